"""Models as files: written and read without pickle, described, exported to ONNX."""

from rankfair.models.archive import ModelFileError
from rankfair.models.files import describe_model, load_model, read_extra, save_model
from rankfair.models.onnx import export_onnx

__all__ = [
    "ModelFileError",
    "describe_model",
    "export_onnx",
    "load_model",
    "read_extra",
    "save_model",
]

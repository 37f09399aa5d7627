"""Files in and out: CSV and Parquet tables, model files, ONNX."""

"""What the commands do, without a command line: files in, records and files out."""

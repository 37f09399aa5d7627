"""What writes pages and schemas from the code."""

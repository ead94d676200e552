-- Columns of SystemProfileEvents that distinguish calls of PyTorch's operators.
json_extract_string(extra_attributes_json, '$."Module Hierarchy"') AS layer,
    json_extract(extra_attributes_json, '$."Input Dims"')::VARCHAR AS shape

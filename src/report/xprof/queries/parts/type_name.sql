-- The name of a type, as TensorFlow numbers them.
coalesce(['float', 'double', 'int32', 'uint8', 'int16', 'int8', 'string', 'complex64', 'int64', 'bool',
    'qint8', 'quint8', 'qint32', 'bfloat16', 'qint16', 'quint16', 'uint16', 'complex128', 'half', 'resource',
    'variant', 'uint32', 'uint64'][type_number], 'INVALID')

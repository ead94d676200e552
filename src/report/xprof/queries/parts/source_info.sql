-- Where an operation is in the program: "train.py:31".
source_file || coalesce(':' || source_line, '')

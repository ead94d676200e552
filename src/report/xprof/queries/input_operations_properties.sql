-- Time of each category of input operations.
WITH {input_ops}
SELECT {us_of_category kind=Enqueue} AS enqueue_us,
    {us_of_category kind=Demanded file read} AS demanded_file_read_us,
    {us_of_category kind=Advanced file read} AS advanced_file_read_us,
    {us_of_category kind=Preprocessing} AS preprocessing_us,
    {us_of_category kind=Other} AS unclassified_nonequeue_us
FROM input_op

/*
 * Columns of programs: compiled ones, and their sources.
 */
#include "store/tables/schema_parts.h"

const struct field python_frames_fields[] = {
    [PYTHON_TYPE] = ALWAYS(INT64, "event_type_id", "", "Event type: EventType.id.", "230"),
    [PYTHON_NAME] = ALWAYS(NAME, "name", "", "Event name.", "$train.py:31 step"),
    [PYTHON_FILE] = MAYBE(NAME, "file_path", "", "File path.", "train.py"),
    [PYTHON_LINE] = MAYBE(INT64, "line_number", "", "First line of the function.", "31"),
    [PYTHON_FUNCTION] = MAYBE(NAME, "function_name", "", "Function name.", "step"),
};

const struct field modules_fields[] = {
    [MODULE_ID] = ALWAYS(INT64, "id", "", "Id of the module.", "0"),
    [MODULE_NAME] = ALWAYS(NAME, "name", "", "Name.", "jit_train_step"),
    [MODULE_LABEL] = ALWAYS(NAME, "label", "", "Name and program id, as listed by the source.",
                            "jit_train_step(15913)"),
    [MODULE_PROGRAM] = ALWAYS(INT64, "program_id", "", "Program id assigned by XLA.", "15913"),
    [MODULE_INSTANCE] = ALWAYS(NAME, "instance_id", "", "Host it was captured on.", "host0"),
    [MODULE_OPERATIONS] = ALWAYS(INT64, "operation_count", "", "Number of operations.", "412"),
    [MODULE_FILE] = MAYBE(NAME, "file", "",
                          "File of the profile that holds its serialized HloProto, as a frame of "
                          "zstd; NULL if the capture had none.",
                          "modules.hlo.zst"),
    [MODULE_FILE_OFFSET] = MAYBE(INT64, "file_offset", "B", "Where the frame begins.", "0"),
    [MODULE_FILE_SIZE] = MAYBE(INT64, "file_size", "B", "Size of the frame.", "73216"),
};

const struct field operations_fields[] = {
    [OPERATION_ID] = ALWAYS(INT64, "id", "", "Id of the operation.", "118"),
    [OPERATION_MODULE] = ALWAYS(INT64, "module_id", "", "HLO module: HloModule.id.", "0"),
    [OPERATION_NAME] = ALWAYS(NAME, "name", "", "Name.", "fusion.12"),
    [OPERATION_OPCODE] = ALWAYS(NAME, "opcode", "", "HLO opcode.", "fusion"),
    [OPERATION_COMPUTATION] =
        ALWAYS(NAME, "computation", "", "HLO computation it belongs to.", "main.42"),
    [OPERATION_FRAMEWORK_OP] = MAYBE(
        NAME, "op_name", "", "Framework operation it was compiled from.", "jit(step)/dot_general"),
    [OPERATION_FILE] = MAYBE(NAME, "source_file", "", "Source file.", "train.py"),
    [OPERATION_LINE] = MAYBE(INT64, "source_line", "", "Source line.", "31"),
    [OPERATION_FRAME] =
        MAYBE(NAME, "stack_frame_id", "", "Innermost stack frame: StackFrame.id.", "7"),
    [OPERATION_CATEGORY] = MAYBE(NAME, "category", "",
                                 "Category by XProf's rules: kind of fusion, data formatting, "
                                 "non-fusion elementwise, else the opcode.",
                                 "loop fusion"),
    [OPERATION_EXPRESSION] =
        MAYBE(TEXT, "expression", "", "HLO text, without metadata and backend configuration.",
              "%add.5 = f32[8]{0} add(f32[8]{0} %x, f32[8]{0} %y)"),
    [OPERATION_SHAPE] =
        MAYBE(NAME, "shape", "", "Shape of the result, with its layout.", "bf16[8,128]{1,0}"),
    [OPERATION_FLOPS] =
        MAYBE(FLOAT64, "flops", "",
              "Floating-point operations of one execution, with what it calls; products of "
              "integer matrices are counted as well. NULL if unknown.",
              "17179869184"),
    [OPERATION_MATRIX_FLOPS] = MAYBE(FLOAT64, "matrix_flops", "",
                                     "Those in matrix products and convolutions.", "17179869184"),
    [OPERATION_COMPUTE_TYPE] =
        MAYBE(NAME, "compute_type", "",
              "Element type of what it multiplies in matrix products, else of its result.", "bf16"),
    [OPERATION_XPROF_FLOPS] =
        MAYBE(FLOAT64, "xprof_flops", "",
              "Model FLOPs that XProf shows: XLA's cost analysis for GPUs, in which elementwise "
              "operations count clock cycles.",
              "17179869184"),
    [OPERATION_BYTES_ACCESSED] = MAYBE(INT64, "bytes_accessed", "B",
                                       "Bytes read and written by one execution.", "100663296"),
    [OPERATION_BYTES_READ] =
        MAYBE(INT64, "bytes_read", "B", "Bytes of operands that are read, each once.", "67108864"),
    [OPERATION_BYTES_WRITTEN] =
        MAYBE(INT64, "bytes_written", "B", "Bytes of results that are written.", "33554432"),
    [OPERATION_OPERANDS] =
        MAYBE(INT64_LIST, "operand_ids", "", "Operands: HloOperation.id.", "[116, 117]"),
    [OPERATION_CALLED] =
        MAYBE(TEXT_LIST, "called", "", "Computations it calls.", "[fused_computation.3]"),
    [OPERATION_IS_FUSED] =
        ALWAYS(BOOL, "is_fused", "", "Whether it is in the body of a fusion.", "false"),
    [OPERATION_SCHEDULE_INDEX] =
        ALWAYS(INT64, "schedule_index", "",
               "Position in the order in which its computation executes.", "42"),
};

const struct field frames_fields[] = {
    [FRAME_ID] = ALWAYS(NAME, "id", "", "Id of the frame.", "7"),
    [FRAME_LOCATION] =
        ALWAYS(INT32, "file_location_id", "", "Location: StackFrameFileLocation.id.", "3"),
    [FRAME_PARENT] =
        ALWAYS(NAME, "parent_frame_id", "", "Caller: StackFrame.id; 0 for the outermost.", "2"),
};

const struct field frame_locations_fields[] = {
    [LOCATION_ID] = ALWAYS(NAME, "id", "", "Id of the location.", "3"),
    [LOCATION_FILE] =
        ALWAYS(INT32, "file_name_id", "", "File: StackFrameFileName.id; 0 if unknown.", "1"),
    [LOCATION_FUNCTION] = ALWAYS(INT32, "function_name_id", "",
                                 "Function: StackFrameFunctionName.id; 0 if unknown.", "2"),
    [LOCATION_LINE] = ALWAYS(INT32, "line_number", "", "Source line.", "31"),
};

const struct field frame_files_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Id of the file.", "1"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "File path.", "train.py"),
};

const struct field frame_functions_fields[] = {
    [NAMED_ID] = ALWAYS(NAME, "id", "", "Id of the function.", "2"),
    [NAMED_NAME] = ALWAYS(NAME, "name", "", "Name.", "step"),
};

const struct field source_files_fields[] = {
    [SOURCE_NAME] = ALWAYS(NAME, "name", "",
                           "The file as the profile names it: StackFrameFileName.name, "
                           "HloOperation.source_file, PythonFrame.file_path.",
                           "/home/me/train.py"),
    [SOURCE_KIND] =
        ONE_OF(true, "kind", "Directory it was found in.", "framework", "framework, nki"),
    [SOURCE_PATH] = ALWAYS(TEXT, "path", "", "The file on the machine that processed the profile.",
                           "/src/train.py"),
    [SOURCE_LINES] = ALWAYS(INT64, "line_count", "", "Lines.", "240"),
    [SOURCE_CONTENT] = ALWAYS(TEXT, "content", "", "Its text.", "import jax"),
};

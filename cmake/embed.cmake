# Turns the files of a folder into one C file, which includes them byte by byte: cmake -DFOLDER=...
# -DWORK=... -DOUTPUT=... -P embed.cmake. What gzip makes smaller is embedded packed.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE "${FOLDER}" "${FOLDER}/*")
list(SORT files)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(types
  html "text/html" js "text/javascript" mjs "text/javascript"
  css "text/css" json "application/json" map "application/json" svg "image/svg+xml"
  txt "text/plain" wasm "application/wasm" png "image/png" jpg "image/jpeg"
  ico "image/x-icon" woff2 "font/woff2" woff "font/woff" webmanifest "application/manifest+json")
set(packed_types html js mjs css json map svg txt wasm ico webmanifest)
set(code "/* The files of the UI; made by cmake/embed.cmake. */\n#include \"serve/assets.h\"\n\n")
set(table "")
set(number 0)
foreach(path ${files})
  string(REGEX MATCH "[^.]*$" ending "${path}")
  list(FIND types "${ending}" at)
  set(type "application/octet-stream")
  if(at GREATER -1)
    math(EXPR at "${at} + 1")
    list(GET types ${at} type)
  endif()
  if(type MATCHES "^text/")
    string(APPEND type "; charset=utf-8")
  endif()
  file(SHA256 "${FOLDER}/${path}" sum)
  string(SUBSTRING "${sum}" 0 24 sum)
  set(content "${FOLDER}/${path}")
  set(packed false)
  if(ending IN_LIST packed_types)
    execute_process(COMMAND gzip -9nc "${FOLDER}/${path}" OUTPUT_FILE "${WORK}/${number}.gz"
                    RESULT_VARIABLE result)
    if(result EQUAL 0)
      set(content "${WORK}/${number}.gz")
      set(packed true)
    endif()
  endif()
  string(APPEND code "extern const unsigned char asset_${number}[], asset_${number}_end[];\n"
    "__asm__(\".section .rodata\\n.balign 16\\n.hidden asset_${number}\\n.hidden asset_${number}_end\\n\"\n"
    "        \".globl asset_${number}\\nasset_${number}:\\n.incbin \\\"${content}\\\"\\n\"\n"
    "        \".globl asset_${number}_end\\nasset_${number}_end:\\n.byte 0\\n.previous\\n\");\n")
  string(APPEND table "    {\"${path}\", \"${type}\", \"${sum}\", asset_${number}, asset_${number}_end, ${packed}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND code "\nconst struct asset assets[] = {\n${table}    {0},\n};\n"
  "const size_t asset_count = sizeof assets / sizeof *assets - 1;\n")
file(WRITE "${OUTPUT}" "${code}")

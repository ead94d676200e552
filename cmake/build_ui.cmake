# Builds the web UI unless it is newer than what it is made from: cmake -DNODE=... -DVITE=... -DINDEX=... -DSOURCES=... -P
# build_ui.cmake. Each build folder asks for it, and all share one.
cmake_minimum_required(VERSION 3.25)
foreach(source ${SOURCES})
  if("${source}" IS_NEWER_THAN "${INDEX}")
    execute_process(COMMAND "${NODE}" "${VITE}" build ui --logLevel warn COMMAND_ERROR_IS_FATAL ANY)
    break()
  endif()
endforeach()

# What `make install` puts where; docs/install.md lists it. What other packages could have as well lies in a folder
# of Kymo's own below the libraries: DuckDB's library, libnrt.so.1, and other tools' names for the program.
include(CMakePackageConfigHelpers)
set(own_dir ${CMAKE_INSTALL_LIBDIR}/kymo)
set(man_dir ${CMAKE_INSTALL_MANDIR}/man1)
set(links ${CMAKE_BINARY_DIR}/links)
file(MAKE_DIRECTORY ${links}/compat)

# For programs that are recorded.
install(TARGETS libkymo EXPORT kymo)
install(TARGETS libkymo-nrt)
install(TARGETS libnrt DESTINATION ${own_dir})
install(TARGETS example-training DESTINATION ${own_dir}/examples)
install(FILES ${capture_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/kymo/kymo.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kymo)
install(DIRECTORY include/nrt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES examples/training.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_libdir ${pc_dir} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${pc_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/kymo.pc.in ${CMAKE_BINARY_DIR}/kymo.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/kymo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(EXPORT kymo FILE kymo-config.cmake NAMESPACE kymo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kymo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kymo-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kymo)

if(KYMO_CAPTURE_ONLY)
  return()
endif()

# The program, and what it loads.
install(TARGETS kymo)
file(RELATIVE_PATH program ${CMAKE_INSTALL_FULL_LIBDIR}/kymo/compat ${CMAKE_INSTALL_FULL_BINDIR}/kymo)
foreach(name ${compat_names})
  file(CREATE_LINK ${program} ${links}/compat/${name} SYMBOLIC)
  install(FILES ${links}/compat/${name} DESTINATION ${own_dir}/compat)
endforeach()
if(NOT KYMO_SYSTEM_DUCKDB)
  get_filename_component(duckdb_folder ${duckdb} DIRECTORY)
  install(FILES ${duckdb} DESTINATION ${own_dir} OPTIONAL)
  install(FILES ${duckdb_folder}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME duckdb.txt OPTIONAL)
endif()
install(FILES ${ui_folder}/licenses.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ui.txt OPTIONAL)

# The manual and the completions are made by the program itself.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "The program does not run on this machine; it is built without manual pages and completions")
  return()
endif()
set(generated ${CMAKE_BINARY_DIR}/generated)
set(pages ${generated}/man/kymo.1)
set(shells ${generated}/kymo.bash ${generated}/kymo.zsh ${generated}/kymo.fish)
add_custom_command(OUTPUT ${pages} ${shells}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND kymo --generate man ${generated}/man
  COMMAND kymo --generate bash ${generated}/kymo.bash
  COMMAND kymo --generate zsh ${generated}/kymo.zsh
  COMMAND kymo --generate fish ${generated}/kymo.fish
  DEPENDS kymo COMMENT "Making manual pages and completions" VERBATIM)
add_custom_target(manual ALL DEPENDS ${pages} ${shells})

# A page of another tool's name is found by those who have its folder in PATH.
install(DIRECTORY ${generated}/man/ DESTINATION ${man_dir} FILES_MATCHING PATTERN "kymo*.1")
install(DIRECTORY ${generated}/man/ DESTINATION ${own_dir}/compat/man/man1 FILES_MATCHING PATTERN "neuron-*.1")
install(FILES ${generated}/kymo.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kymo)
install(FILES ${generated}/kymo.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _kymo)
install(FILES ${generated}/kymo.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Shells look completions up by the name of what is called.
foreach(name ${compat_names})
  file(CREATE_LINK kymo ${links}/${name} SYMBOLIC)
  file(CREATE_LINK kymo.fish ${links}/${name}.fish SYMBOLIC)
  install(FILES ${links}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${links}/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()

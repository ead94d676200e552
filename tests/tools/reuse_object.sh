#!/bin/sh
# A compiler launcher for a second build of this source folder: copies an object from the first one, in folder $REUSED_BUILD, where
# that was made by the same command. $REUSED_COMMANDS lists the commands, one a line: the options but those that change no object.
options=
object=
depfile=
last=
for word; do
    case $last in
    -MT) word= ;;
    -MF) depfile=$word word= ;;
    -o) object=$word ;;
    esac
    case $options$word in
    -*) case $word in
        -Werror | -MD | -MT | -MF | "") ;;
        *) options="$options${options:+ }$word" ;;
        esac ;;
    esac
    last=$word
done
if [ -n "$object" ] && grep -qxF -e "$options" "$REUSED_COMMANDS"; then
    [ -z "$depfile" ] || echo "$object: $REUSED_BUILD/$object" >"$depfile" # or a changed header would leave it as it is
    exec cp "$REUSED_BUILD/$object" "$object"
fi
exec "$@"

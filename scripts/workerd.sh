#!/bin/sh
# Runs workerd in a session of its own: a signal to all processes of `npm run dev`, such as Ctrl-C, would end it before the workspaces
# are saved.
exec setsid "$LOCAL_WORKERD_PROGRAM" "$@"

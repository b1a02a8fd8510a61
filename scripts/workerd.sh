#!/bin/sh
# Runs workerd in a session of its own, which ends with `npm run dev`: a signal to all processes of that, such as Ctrl-C, would end
# workerd before the workspaces are saved.
exec setpriv --pdeathsig KILL setsid "$LOCAL_WORKERD_PROGRAM" "$@"

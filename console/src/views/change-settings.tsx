// Changes the settings of a named workspace.

import { useState } from 'preact/hooks';

import type { DependsOn, Workspace } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { number } from '../options.ts';
import { client } from '../session.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { DurationField } from '../ui/duration.tsx';
import { ChoiceField, TextField, TickField } from '../ui/field.tsx';
import { subjectOf } from './workspace-operations.ts';

/** The fields of the form. */
type Fields = Pick<Workspace, 'persistent'> &
  Required<Workspace['expiry']> &
  Required<Omit<Workspace['autosave'], 'keepLast'>> & { keepLast: string } & Required<
    Pick<DependsOn, 'onImageChange'>
  >;

/** Asks for the settings of a workspace, and changes those that differ. */
export function ChangeSettings({ of, onClose }: { of: Workspace; onClose: () => void }) {
  const { tenant, name } = of;
  const [initial] = useState(() => fieldsOf(of));
  const [fields, setFields] = useState(initial);
  const set = (changed: Partial<Fields>) => setFields((fields) => ({ ...fields, ...changed }));
  const changes = changesOf(of, initial, fields);
  const changing = useAction(
    { operation: 'settings', subject: subjectOf(of), title: <>Changing the settings of {name}</> },
    async () => {
      await client.workspaces.update({ tenant, name, ...changes });
      return { message: `The settings of ${name} were changed.` };
    },
    onClose,
  );
  return (
    <ActionDialog
      title={`Settings of ${name}`}
      submitLabel="Save"
      disabled={Object.keys(changes).length === 0}
      action={changing}
      onClose={onClose}
    >
      <DurationField
        label="Stops when idle for"
        value={fields.idleSeconds}
        onValue={(idleSeconds = 0) => set({ idleSeconds })}
      />
      <DurationField
        label="Stops in any case after"
        value={fields.maxSeconds}
        onValue={(maxSeconds = 0) => set({ maxSeconds })}
      />
      <DurationField
        label="Saves automatically every"
        value={fields.everySeconds}
        onValue={(everySeconds = 0) => set({ everySeconds })}
      />
      <TickField
        label="Saves after each turn of an agent"
        hint="When the agent calls turnEnded, at most once a minute."
        checked={fields.afterTurn}
        onValue={(afterTurn) => set({ afterTurn })}
      />
      <TickField
        label="Saves only if files changed"
        checked={fields.onlyIfChanged}
        onValue={(onlyIfChanged) => set({ onlyIfChanged })}
      />
      <TextField
        label="Automatic snapshots to keep"
        type="number"
        min={1}
        required
        value={fields.keepLast}
        onValue={(keepLast) => set({ keepLast })}
      />
      <ChoiceField
        label="If a start finds another image"
        value={fields.onImageChange}
        choices={[
          ['report', 'report it'],
          ['fail', 'fail'],
          ['allow', 'ignore it'],
        ]}
        onValue={(onImageChange) => set({ onImageChange })}
      />
      <TickField
        label="Persistent"
        hint="Otherwise a stop takes no snapshot, and the files are lost."
        checked={fields.persistent}
        onValue={(persistent) => set({ persistent })}
      />
    </ActionDialog>
  );
}

/** Returns the present settings. Those without a value have their defaults. */
function fieldsOf({ persistent, expiry, autosave, dependsOn }: Workspace): Fields {
  const { idleSeconds = 600, maxSeconds = 0 } = expiry;
  const { everySeconds = 0, afterTurn = false, onlyIfChanged = true, keepLast = 5 } = autosave;
  const { onImageChange = 'report' } = dependsOn;
  const times = { idleSeconds, maxSeconds, everySeconds };
  return { ...times, afterTurn, onlyIfChanged, keepLast: String(keepLast), onImageChange, persistent };
}

/** Returns the settings that differ. An update replaces each of them as a whole. */
function changesOf({ dependsOn }: Workspace, initial: Fields, fields: Fields) {
  const { idleSeconds, maxSeconds, everySeconds, afterTurn, onlyIfChanged, onImageChange, persistent } =
    fields;
  const keepLast = number(fields.keepLast) ?? 5;
  const differs = (...names: (keyof Fields)[]) => names.some((name) => initial[name] !== fields[name]);
  return {
    ...(differs('persistent') && { persistent }),
    ...(differs('idleSeconds', 'maxSeconds') && { expiry: { idleSeconds, maxSeconds } }),
    ...(differs('everySeconds', 'afterTurn', 'onlyIfChanged', 'keepLast') && {
      autosave: { everySeconds, afterTurn, onlyIfChanged, keepLast },
    }),
    ...(differs('onImageChange') && { dependsOn: { ...dependsOn, onImageChange } }),
  };
}

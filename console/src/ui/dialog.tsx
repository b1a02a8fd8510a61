// Questions that come before everything else.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

import type { Action } from '../action.ts';
import { Button, type ButtonProps } from './button.tsx';
import { Failure } from './failure.tsx';

/** A dialog that is open for as long as it is there. The focus goes back to where it was when it is closed. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onCancel={cancel}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

/** What an {@link Ask} asks. */
export interface AskProps {
  title: string;
  /** What the button says that does it. */
  verb: string;
  look?: ButtonProps['look'];
  /** Whether it can't be done yet. */
  disabled?: boolean;
  /** What is done; the dialog closes itself when that succeeded. */
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
  /** What is shown of a failure besides itself. */
  onFailure?: ComponentChildren;
}

/** Asks before something is done, or for what it needs; shows why it failed. */
export function Ask(props: AskProps) {
  const { title, verb, look = 'primary', disabled = false, action, onClose, children, onFailure } = props;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!disabled && (await action.run())) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        <Failure of={action.failure}>{onFailure}</Failure>
        <div class="buttons end">
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} busy={action.busy} disabled={disabled}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

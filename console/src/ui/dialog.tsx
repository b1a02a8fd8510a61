// Questions that come before everything else.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';

import type { Action } from '../action.ts';
import { href, place } from '../routes.ts';
import { Boundary } from './boundary.tsx';
import { Button, type ButtonProps } from './button.tsx';
import { asking, catchFocus } from './dialog-focus.ts';
import { Failure } from './failure.tsx';
import { announce, Notice } from './notice.tsx';
import { Portal } from './portal.tsx';

interface DialogProps {
  title: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * A dialog that is open for as long as it is there, and closed when somebody goes to another place. The focus goes back to
 * where it was then.
 */
export function Dialog(props: DialogProps) {
  const here = href(place.value);
  const opened = useRef(here);
  useEffect(() => {
    if (here !== opened.current) props.onClose();
  }, [here]);
  return (
    <Portal>
      <Modal {...props} />
    </Portal>
  );
}

function Modal({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    asking.value += 1;
    return () => {
      asking.value -= 1;
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      catchFocus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onCancel={cancel}>
      <Boundary>
        <h2 id={titleId}>{title}</h2>
        {children}
      </Boundary>
      <Notice isInDialog />
    </dialog>
  );
}

/** What an {@link Ask} asks. */
export interface AskProps {
  title: ComponentChildren;
  /** What the button says that does it. */
  verb: string;
  look?: ButtonProps['look'];
  /** Whether it can't be done yet. */
  disabled?: boolean;
  /** What is done. Whoever asks closes the dialog when it is done. */
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
  /** What is shown of a failure besides itself. */
  onFailure?: ComponentChildren;
}

/** Asks before something is done, or for what it needs; shows why it failed. */
export function Ask(props: AskProps) {
  const { title, verb, look = 'primary', disabled = false, action, onClose, children, onFailure } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!disabled) void action.run();
  };
  const leave = () => {
    if (action.busy) announce('It goes on. What comes of it will be told here.');
    onClose();
  };
  return (
    <Dialog title={title} onClose={leave}>
      <form onSubmit={submit}>
        {children}
        <Failure of={action.failure}>{onFailure}</Failure>
        <div class="buttons end">
          <Button onClick={leave}>{action.busy ? 'Close' : 'Cancel'}</Button>
          <Button look={look} busy={action.busy} disabled={disabled}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

// Modal dialogs.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';

import type { Action } from '../action.ts';
import { href, place } from '../routes.ts';
import { Boundary } from './boundary.tsx';
import { Button, type ButtonProps } from './button.tsx';
import { openDialogs, recoverFocus } from './dialog-focus.ts';
import { Failure } from './failure.tsx';
import { announce, Notice } from './notice.tsx';
import { Portal } from './portal.tsx';

interface DialogProps {
  title: ComponentChildren;
  onClose: () => void;
  /** Whether the dialog is as wide as the page. */
  isWide?: boolean;
  children: ComponentChildren;
}

/** A dialog that is open while it is mounted. It closes when the user goes to another page, and returns the focus. */
export function Dialog(props: DialogProps) {
  const address = href(place.value);
  const openedAt = useRef(address);
  useEffect(() => {
    if (address !== openedAt.current) props.onClose();
  }, [address]);
  return (
    <Portal>
      <Modal {...props} />
    </Portal>
  );
}

function Modal({ title, onClose, isWide, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const focused = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    shown?.scrollTo(0, 0); // The first button may be at the end.
    openDialogs.value += 1;
    return () => {
      openDialogs.value -= 1;
      shown?.close();
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
      recoverFocus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : undefined} aria-labelledby={titleId} onCancel={cancel}>
      <Boundary>
        <h2 id={titleId}>{title}</h2>
        {children}
      </Boundary>
      <Notice isInDialog />
    </dialog>
  );
}

/** The properties of an {@link ActionDialog}. */
export interface ActionDialogProps {
  title: ComponentChildren;
  /** The text of the button that runs the action. */
  submitLabel: string;
  variant?: ButtonProps['variant'];
  /** Whether the action cannot run yet. */
  disabled?: boolean;
  /** The action. Its `onDone` must close the dialog. */
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
  /** The remediation of a failure, if the usual one does not apply. */
  remediation?: string | undefined;
  /** Shown below a failure. */
  onFailure?: ComponentChildren;
}

/** A dialog that asks for the input or the confirmation of an action, and shows its failure. */
export function ActionDialog(props: ActionDialogProps) {
  const {
    title,
    submitLabel,
    variant = 'primary',
    disabled = false,
    action,
    onClose,
    children,
    remediation,
    onFailure,
  } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!disabled) void action.run();
  };
  const close = () => {
    if (action.busy) announce('The operation continues. Its result will appear here.');
    onClose();
  };
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={submit}>
        {children}
        <Failure of={action.failure} remediation={remediation}>
          {onFailure}
        </Failure>
        <div class="buttons end">
          <Button onClick={close}>{action.busy ? 'Close' : 'Cancel'}</Button>
          <Button variant={variant} busy={action.busy} disabled={disabled}>
            {submitLabel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

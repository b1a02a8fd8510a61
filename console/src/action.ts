// Actions that the user starts with a button. An action runs once at a time, wherever it was started, and never fails
// silently.

import { batch, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { refresh } from './live.ts';
import { go, href, place, type Place } from './routes.ts';
import { token } from './session.ts';
import { reportFailure } from './ui/action-failures.tsx';
import { isDialogOpen, recoverFocus } from './ui/dialog-focus.ts';
import { announce } from './ui/notice.tsx';

/** What identifies an action. */
interface ActionKey {
  /** The name of the operation. */
  operation: string;
  /** The object of the operation. The console shows only the failure of the last action on a subject. */
  subject: string;
}

/** The description of an action. */
export interface ActionSpec extends ActionKey {
  /** The name of the action in the report of its failure, on a page that does not show the action. */
  title: ComponentChildren;
}

/** The outcome of an action that succeeded. */
export interface Outcome {
  /** The outcome in one line. */
  message: ComponentChildren;
  /** The page to go to. The user stays where they are if they went to another page or opened a dialog in the meantime. */
  to?: Place;
  /** Whether `to` shows a new object: a user who stays gets a link to it. Otherwise `to` replaces the page of a deleted object. */
  isNew?: boolean;
  /** Whether the message warns, and so stays until the next action or page. */
  isWarning?: boolean;
}

/** An action, as a view uses it. */
export interface Action<A extends unknown[]> {
  /** Whether the action is in progress. `run` does nothing then. */
  busy: boolean;
  /** Why the action failed, until another action on its subject begins. */
  failure: unknown;
  /** Runs the action. */
  run(...args: A): Promise<void>;
  /** Runs the action again, with the arguments of the last run. */
  retry(): void;
}

/** A view that shows an action. */
interface Observer {
  onDone?: (() => void) | undefined;
}

/** The state of an action, shared by all views that show it. It continues without them. */
class ActionState {
  readonly key: ActionKey;
  readonly busy = signal(false);
  readonly failure = signal<unknown>();
  readonly observers = new Set<Observer>();
  /** The arguments of the last run. */
  args: unknown[] = [];

  constructor(key: ActionKey) {
    this.key = key;
  }

  /** Registers the action while a view shows it or it is in progress, and unregisters it otherwise. */
  updateRegistration() {
    if (this.observers.size > 0 || this.busy.peek()) actions.set(keyOf(this.key), this);
    else actions.delete(keyOf(this.key));
  }
}

const actions = new Map<string, ActionState>();

function keyOf({ operation, subject }: ActionKey): string {
  return JSON.stringify([operation, subject]);
}

/**
 * Returns an action that runs `work`. When the work ends, the action announces its outcome, and the console reads everything
 * on the page again, also after a failure.
 *
 * @param onDone Called when the action succeeds while the view still shows it.
 */
export function useAction<A extends unknown[]>(
  spec: ActionSpec,
  work: (...args: A) => Promise<Outcome | void>,
  onDone?: () => void,
): Action<A> {
  const key = keyOf(spec);
  const current = useRef<{ key: string; state: ActionState }>(undefined);
  if (current.current?.key !== key)
    current.current = { key, state: actions.get(key) ?? new ActionState(spec) };
  const { state } = current.current;
  const observer = useRef<Observer>({}).current;
  observer.onDone = onDone;
  useLayoutEffect(() => {
    state.observers.add(observer);
    state.updateRegistration();
    return () => {
      state.observers.delete(observer);
      state.updateRegistration();
    };
  }, [state]);

  const start = (...args: A) => {
    if (!state.busy.peek()) state.args = args;
    return run(state, observer, spec.title, () => work(...args));
  };
  return {
    busy: state.busy.value,
    failure: state.failure.value,
    run: start,
    retry: () => void start(...(state.args as A)),
  };
}

async function run(
  state: ActionState,
  starter: Observer,
  title: ComponentChildren,
  work: () => Promise<Outcome | void>,
) {
  if (state.busy.peek()) return;
  const session = token.peek();
  const startedAt = href(place.peek());
  batch(() => {
    for (const other of actions.values())
      if (other.key.subject === state.key.subject) other.failure.value = undefined;
    state.busy.value = true;
  });
  try {
    const outcome = await work();
    if (outcome && token.peek() === session) await finish(outcome);
  } catch (thrown) {
    if (token.peek() !== session) return;
    if (state.observers.size > 0) state.failure.value = thrown;
    else reportFailure(title, thrown, startedAt);
    void refresh();
  } finally {
    state.busy.value = false;
    state.updateRegistration();
  }

  async function finish({ message, to, isNew = false, isWarning }: Outcome) {
    const isUnmoved = () => href(place.peek()) === startedAt;
    const follows = state.observers.has(starter) && isUnmoved();
    for (const { onDone } of state.observers) onDone?.();
    announce(message, { isWarning, ...(follows ? { page: to } : isNew && { to }) });
    if (to && follows && !isNew) go(to);
    await refresh();
    if (token.peek() !== session) return;
    if (to && follows && isNew) {
      if (isUnmoved() && !isDialogOpen()) go(to);
      else announce(message, { to, isWarning });
    }
    recoverFocus();
  }
}

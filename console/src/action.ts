// What somebody does by a button: once at a time, wherever it was begun, and never failing silently.

import { batch, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { refresh } from './live.ts';
import { go, href, place, type Place } from './routes.ts';
import { token } from './session.ts';
import { report } from './ui/action-failures.tsx';
import { catchFocus, isAsking } from './ui/dialog-focus.ts';
import { announce } from './ui/notice.tsx';

/** A thing to do. */
export interface Deed {
  /** What is done: the name of its operation, mostly. */
  verb: string;
  /** What it is done to. Of what was done to one subject, the failure of the last alone is shown. */
  subject: string;
  /** What it is called where its failure is told elsewhere. */
  title: ComponentChildren;
}

/** What came of it. */
export interface Done {
  /** In one line. */
  said: ComponentChildren;
  /** Where to go then. Nobody is taken there who went elsewhere meanwhile, or is being asked something. */
  to?: Place;
  /** Whether something new is seen there: who is not taken there gets a link. Otherwise it is where one goes from what is gone. */
  made?: boolean;
}

/** Something that can be done. */
export interface Action<A extends unknown[]> {
  /** Whether it is under way. It is not begun a second time meanwhile. */
  busy: boolean;
  /** Why it failed, until something else is done to its subject. */
  failure: unknown;
  /** Does it. */
  run(...args: A): Promise<void>;
}

/** Whoever shows an action. */
interface Watcher {
  onDone?: (() => void) | undefined;
}

/** An action with all that show it. It goes on without them. */
class Doing {
  readonly deed: Pick<Deed, 'verb' | 'subject'>;
  readonly busy = signal(false);
  readonly failure = signal<unknown>();
  readonly watchers = new Set<Watcher>();

  constructor(deed: Pick<Deed, 'verb' | 'subject'>) {
    this.deed = deed;
  }

  /** It is known for as long as somebody shows it, or it is under way. */
  settle() {
    if (this.watchers.size > 0 || this.busy.peek()) doings.set(keyOf(this.deed), this);
    else doings.delete(keyOf(this.deed));
  }
}

const doings = new Map<string, Doing>();

function keyOf({ verb, subject }: Pick<Deed, 'verb' | 'subject'>): string {
  return JSON.stringify([verb, subject]);
}

/**
 * An action. What it answers is said; then everything that is shown is read again, also where it failed.
 *
 * @param onDone Called where it succeeded while this is still shown.
 */
export function useAction<A extends unknown[]>(
  deed: Deed,
  work: (...args: A) => Promise<Done | void>,
  onDone?: () => void,
): Action<A> {
  const key = keyOf(deed);
  const held = useRef<{ key: string; doing: Doing }>(undefined);
  if (held.current?.key !== key) held.current = { key, doing: doings.get(key) ?? new Doing(deed) };
  const { doing } = held.current;
  const watcher = useRef<Watcher>({}).current;
  watcher.onDone = onDone;
  useLayoutEffect(() => {
    doing.watchers.add(watcher);
    doing.settle();
    return () => {
      doing.watchers.delete(watcher);
      doing.settle();
    };
  }, [doing]);

  return {
    busy: doing.busy.value,
    failure: doing.failure.value,
    run: (...args) => run(doing, watcher, deed.title, () => work(...args)),
  };
}

async function run(
  doing: Doing,
  beginner: Watcher,
  title: ComponentChildren,
  work: () => Promise<Done | void>,
) {
  if (doing.busy.peek()) return;
  const session = token.peek();
  const begunAt = href(place.peek());
  batch(() => {
    for (const other of doings.values())
      if (other.deed.subject === doing.deed.subject) other.failure.value = undefined;
    doing.busy.value = true;
  });
  try {
    const done = await work();
    if (done && token.peek() === session) await finish(done);
  } catch (thrown) {
    if (token.peek() !== session) return;
    if (doing.watchers.size > 0) doing.failure.value = thrown;
    else report(title, thrown, begunAt);
    void refresh();
  } finally {
    doing.busy.value = false;
    doing.settle();
  }

  async function finish({ said, to, made = false }: Done) {
    const isThere = () => href(place.peek()) === begunAt;
    const goes = doing.watchers.has(beginner) && isThere();
    for (const { onDone } of doing.watchers) onDone?.();
    announce(said, made && !goes ? to : undefined);
    if (to && goes && !made) go(to);
    await refresh();
    if (token.peek() !== session) return;
    if (to && goes && made) {
      if (isThere() && !isAsking()) go(to);
      else announce(said, to);
    }
    catchFocus();
  }
}

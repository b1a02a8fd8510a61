// What is known of something, each fact with its name.

import type { ComponentChildren } from 'preact';

import { now } from '../clock.ts';
import { distance, moment } from '../texts.ts';

/** A list of facts. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

/** A fact; it is left out where nothing is known. */
export function Fact({ name, children }: { name: string; children?: ComponentChildren }) {
  if (children === undefined || children === null || children === false || children === '') return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A time: how far it is from now, and when it is. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {distance(at, now.value)}
    </time>
  );
}

/** A time in full. */
export function Moment({ at }: { at: string | undefined }) {
  if (at === undefined) return null;
  return (
    <>
      <time dateTime={at}>{moment(at)}</time> <span class="hint">{distance(at, now.value)}</span>
    </>
  );
}

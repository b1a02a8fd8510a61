// Failures of what was begun at a place that is not shown any more.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { href, place } from '../routes.ts';
import { Button } from './button.tsx';
import { Failure } from './failure.tsx';

interface Told {
  title: ComponentChildren;
  failure: unknown;
  /** The address of where it was begun. */
  from: string;
}

const told = signal<readonly Told[]>([]);

/** Tells of a failure at the head of the page. `from` is the address of where it was begun. */
export function report(title: ComponentChildren, failure: unknown, from: string) {
  told.value = [...told.value, { title, failure, from }];
}

/** Forgets them all. */
export function forgetFailures() {
  told.value = [];
}

/** The failures, until they are dismissed. */
export function ActionFailures() {
  const dismiss = (one: Told) => (told.value = told.value.filter((other) => other !== one));
  return (
    <>
      {told.value.map((one, at) => (
        <Failure key={at} of={one.failure} title={<>{one.title} failed.</>}>
          <div class="buttons">
            {one.from !== href(place.value) && (
              <a class="button" href={one.from}>
                Back to it
              </a>
            )}
            <Button onClick={() => dismiss(one)}>Dismiss</Button>
          </div>
        </Failure>
      ))}
    </>
  );
}

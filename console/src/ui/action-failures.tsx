// Failures of actions that were started on a page that is no longer shown.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { href, place } from '../routes.ts';
import { Button } from './button.tsx';
import { Failure } from './failure.tsx';

interface ReportedFailure {
  title: ComponentChildren;
  failure: unknown;
  /** The address of the page on which the action was started. */
  from: string;
}

const failures = signal<readonly ReportedFailure[]>([]);

/** Shows a failure at the top of the page. `from` is the address of the page on which the action was started. */
export function reportFailure(title: ComponentChildren, failure: unknown, from: string) {
  failures.value = [...failures.value, { title, failure, from }];
}

/** Removes all failures. */
export function clearFailures() {
  failures.value = [];
}

/** The failures that are not dismissed. */
export function ActionFailures() {
  const dismiss = (dismissed: ReportedFailure) =>
    (failures.value = failures.value.filter((reported) => reported !== dismissed));
  return (
    <>
      {failures.value.map((reported, at) => (
        <Failure key={at} of={reported.failure} title={<>{reported.title} failed.</>}>
          <div class="buttons">
            {reported.from !== href(place.value) && (
              <a class="button" href={reported.from}>
                Open its page
              </a>
            )}
            <Button onClick={() => dismiss(reported)}>Dismiss</Button>
          </div>
        </Failure>
      ))}
    </>
  );
}

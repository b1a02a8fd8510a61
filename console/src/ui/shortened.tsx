// The items of a list, of which runs of similar ones are shortened.

import { Fragment, type ComponentChildren } from 'preact';

import { runsOf } from '../runs.ts';

/** The number of similar items from which a run is shortened. */
const MIN_RUN = 4;

/** The items of a list. Of a run of similar items, the first one is shown, and the others are collapsed. */
export function Shortened<T>({
  of,
  keyOf,
  rest,
  children,
}: {
  of: readonly T[];
  /** The key that similar items share; undefined for an item that is always shown. */
  keyOf: (item: T) => string | undefined;
  /** Describes the items of a run after the first one. */
  rest: (items: T[]) => ComponentChildren;
  /** Renders the content of an item. */
  children: (item: T) => ComponentChildren;
}) {
  const item = (item: T, at: number) => <li key={at}>{children(item)}</li>;
  return (
    <>
      {runsOf(of, keyOf).map((run, at) => {
        const [first, ...others] = run;
        if (run.length < MIN_RUN) return <Fragment key={at}>{run.map(item)}</Fragment>;
        return (
          <Fragment key={at}>
            {item(first, 0)}
            <li class="run">
              <details>
                <summary>{rest(others)}</summary>
                <ul class="plain">{others.map(item)}</ul>
              </details>
            </li>
          </Fragment>
        );
      })}
    </>
  );
}

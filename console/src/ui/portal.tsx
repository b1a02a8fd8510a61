// What is shown outside of the place that it belongs to.

import { signal } from '@preact/signals';
import { Fragment, type ComponentChildren, type JSX } from 'preact';
import { useId, useLayoutEffect } from 'preact/hooks';

const shown = signal<ReadonlyMap<string, ComponentChildren>>(new Map());

/** Shows its children at the {@link Outlet}, where no style of their place hides them. */
export function Portal({ children }: { children: ComponentChildren }) {
  const id = useId();
  useLayoutEffect(() => {
    shown.value = new Map(shown.peek()).set(id, children);
  });
  useLayoutEffect(
    () => () => {
      shown.value = new Map([...shown.peek()].filter(([other]) => other !== id));
    },
    [],
  );
  return null;
}

/** Where it is shown. */
export function Outlet(): JSX.Element {
  return (
    <>
      {[...shown.value].map(([id, children]) => (
        <Fragment key={id}>{children}</Fragment>
      ))}
    </>
  );
}

// A portal: content that is rendered outside of its parent element.

import { signal } from '@preact/signals';
import { Fragment, type ComponentChildren, type JSX } from 'preact';
import { useId, useLayoutEffect } from 'preact/hooks';

const contents = signal<ReadonlyMap<string, ComponentChildren>>(new Map());

/** Renders its children in the {@link Outlet}, where no style of the parent hides them. */
export function Portal({ children }: { children: ComponentChildren }) {
  const id = useId();
  useLayoutEffect(() => {
    contents.value = new Map(contents.peek()).set(id, children);
  });
  useLayoutEffect(
    () => () => {
      contents.value = new Map([...contents.peek()].filter(([other]) => other !== id));
    },
    [],
  );
  return null;
}

/** The element that contains the portals' children. */
export function Outlet(): JSX.Element {
  return (
    <>
      {[...contents.value].map(([id, children]) => (
        <Fragment key={id}>{children}</Fragment>
      ))}
    </>
  );
}

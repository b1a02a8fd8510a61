// Shows the fields of a nested type in place.

/** Fills each nested type when it is opened for the first time. */
export function showNestedTypes(): void {
  document.addEventListener('toggle', fill, { capture: true });
}

function fill({ target }: Event): void {
  if (!(target instanceof HTMLDetailsElement) || !target.dataset['type']) return;
  const type = document.getElementById(`type-${target.dataset['type']}`);
  if (!target.open || !type) return;
  const parts = type.querySelectorAll(':scope > .forms, :scope > .fields');
  const copies = [...parts].map((part) => part.cloneNode(true) as Element);
  for (const part of copies.flatMap((copy) => [...copy.querySelectorAll('[id]')])) part.removeAttribute('id');
  target.querySelector(':scope > p')?.replaceWith(...copies);
}

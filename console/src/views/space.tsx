// What takes the space in a directory of a snapshot: its largest entries, and its largest files.

import type { ComponentChildren } from 'preact';

import { count, size } from '../format.ts';
import { useOnce } from '../once.ts';
import { client } from '../session.ts';
import { Bar } from '../ui/bar.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import type { LinkTo } from './file-table.tsx';

interface SpaceProps {
  sandboxId: string;
  snapshotId: string;
  path: string;
  linkTo: LinkTo;
}

/** The sizes of what is in a directory. */
export function Space({ linkTo, path, ...selection }: SpaceProps) {
  const { value, failure, retry } = useOnce(JSON.stringify([selection, path]), (options) =>
    client.files.summary({ ...selection, path: path || '/', ...options }),
  );
  if (!value) return failure ? <Failure of={failure} retry={retry} /> : <p class="empty">Adding up…</p>;
  const { files, directories, sizeBytes, entries = [], largest } = value;
  return (
    <>
      <h2>What takes the space</h2>
      <p>
        {size(sizeBytes)} in {count(files, 'file')} and {count(directories, 'directory', 'directories')}
      </p>
      <List name="Largest entries">
        {entries.map(({ name, type, files, sizeBytes }) => [
          sizeBytes,
          <>
            <a href={linkTo(path ? `${path}/${name}` : name)}>
              <Name of={name} />
              {type === 'directory' && '/'}
            </a>
            {type === 'directory' && <span class="hint">{count(files, 'file')}</span>}
          </>,
        ])}
      </List>
      <List name="Largest files">
        {largest.map(({ path, sizeBytes }) => [
          sizeBytes,
          <a href={linkTo(path)}>
            <Name of={path} />
          </a>,
        ])}
      </List>
    </>
  );
}

/** A list of items, each with its bytes and a bar for them. */
function List({ name, children }: { name: string; children: [number, ComponentChildren][] }) {
  if (children.length === 0) return null;
  const most = Math.max(...children.map(([bytes]) => bytes));
  return (
    <>
      <h3>{name}</h3>
      <ul class="flat plain" aria-label={name}>
        {children.map(([bytes, item], index) => (
          <li key={index}>
            <Bar own={bytes} most={most} />
            {item}
            <span class="hint">{size(bytes)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

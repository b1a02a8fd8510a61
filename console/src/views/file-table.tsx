// What the files of snapshots and those of running sandboxes have in common: paths, directories and attributes.

import type { FileDescription, FileEntry } from '../../../client/src/index.ts';
import { size } from '../format.ts';
import { Fact, Facts, Time } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';

/** Returns the address of the page of a path. */
export type LinkTo = (path: string) => string;

/** The path, with a link to each directory on it. */
export function PathLinks({ path, linkTo }: { path: string; linkTo: LinkTo }) {
  const names = path.split('/').filter((name) => name !== '');
  const at = (count: number) => linkTo(names.slice(0, count).join('/'));
  if (names.length === 0) return <>All files</>;
  return (
    <span class="mono">
      <a href={at(0)}>All files</a>
      {names.map((name, index) => (
        <>
          {' / '}
          {index + 1 < names.length ? (
            <a key={index} href={at(index + 1)}>
              <Name of={name} />
            </a>
          ) : (
            <Name of={name} />
          )}
        </>
      ))}
    </span>
  );
}

/** The files in a directory. */
export function FileTable({ files, path, linkTo }: { files: FileEntry[]; path: string; linkTo: LinkTo }) {
  return (
    <table class="files panel">
      <caption class="unseen">Files in {path || 'the directory itself'}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Size</th>
          <th scope="col">Mode</th>
          <th scope="col">Modified</th>
        </tr>
      </thead>
      <tbody>
        {files.map((file) => (
          <Entry
            key={file.nameBytes ?? file.name}
            of={file}
            link={linkTo(path ? `${path}/${file.name}` : file.name)}
          />
        ))}
      </tbody>
    </table>
  );
}

function Entry({ of, link }: { of: FileEntry; link: string }) {
  const { name, nameBytes, type, sizeBytes, mode, modifiedAt, target } = of;
  const text = (
    <>
      <Name of={name} />
      {type === 'directory' && '/'}
    </>
  );
  return (
    <tr>
      <th scope="row" class="mono">
        {nameBytes === undefined ? <a href={link}>{text}</a> : text}
        {target !== undefined && (
          <>
            {' → '}
            <Name of={target} />
          </>
        )}
      </th>
      <td data-name="Size">{type === 'file' ? size(sizeBytes) : <span class="hint">{TYPES[type]}</span>}</td>
      <td data-name="Mode">
        <code>{mode}</code>
      </td>
      <td data-name="Modified">
        <Time at={modifiedAt} />
      </td>
    </tr>
  );
}

const TYPES = { directory: 'directory', symlink: 'link', special: 'special file', file: 'file' } as const;

/** The attributes of a file. */
export function FileFacts({ of }: { of: FileDescription }) {
  const { type, sizeBytes, mode, uid, gid, modifiedAt, target } = of;
  return (
    <Facts>
      <Fact name="Type">{TYPES[type]}</Fact>
      <Fact name="Size">{type === 'file' && size(sizeBytes)}</Fact>
      <Fact name="Mode">{mode}</Fact>
      <Fact name="Owner">
        {uid}:{gid}
      </Fact>
      <Fact name="Modified">
        <Time at={modifiedAt} />
      </Fact>
      <Fact name="Target">{target !== undefined && <Name of={target} />}</Fact>
    </Facts>
  );
}

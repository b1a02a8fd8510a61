// The head of a page about a tenant, or about one of its workspaces.

import type { ComponentChildren } from 'preact';

import { href } from '../routes.ts';
import { Name } from '../ui/name.tsx';

/** A title, with a link to the workspaces of the tenant above it. */
export function TenantHead({
  tenant,
  title,
  children,
}: {
  tenant: string;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      <p class="kind">
        <a href={href({ at: 'workspaces', tenant })}>
          Workspaces of <Name of={tenant} />
        </a>
      </p>
      <h1>{title}</h1>
      {children}
    </header>
  );
}

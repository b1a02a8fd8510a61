// A list of operations with their summaries.

import { routesOf, type Document } from './document.ts';
import { Line } from './text.tsx';

interface ContentsProps {
  document: Document;
  tag: string;
  /** Whether each entry has the anchor of its operation. Links to the former single page lead to these entries. */
  hasAnchors?: boolean;
}

/** The operations of a group, with links to its page. */
export function Contents({ document, tag, hasAnchors = false }: ContentsProps) {
  return (
    <dl class="contents">
      {routesOf(document, tag).map(({ id, name, route }) => (
        <div key={id} id={hasAnchors ? id : undefined}>
          <dt>
            <a href={`/docs/${tag}#${id}`}>{name}</a>
          </dt>
          <dd>
            <Line text={route.summary} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

// A type as a table of its fields.

import { fieldsOf, typeName, type Document, type Field, type Schema } from './document.ts';
import { Inline } from './text.tsx';

/** What a value is: the name of its type, with a link where the page tells of that. */
export function Type({ schema }: { schema: Schema }) {
  const name = typeName(schema);
  if (name) return <a href={`#type-${name}`}>{name}</a>;
  if (schema['items']) {
    return (
      <>
        list of <Type schema={schema['items']} />
      </>
    );
  }
  if (schema['const'] !== undefined) return <code>{JSON.stringify(schema['const'])}</code>;
  if (Array.isArray(schema['enum'])) return <Words words={schema['enum']} />;
  return (
    <>{schema['format'] === 'date-time' ? 'date and time' : [schema['type'] ?? 'any'].flat().join(' or ')}</>
  );
}

function Words({ words }: { words: unknown[] }) {
  return (
    <>
      {words.map((word, index) => (
        <>
          {index > 0 && ' or '}
          <code>{String(word)}</code>
        </>
      ))}
    </>
  );
}

/** What is asked of a value beyond its type. */
function limits(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, pattern, default: preset } = schema;
  const between = (least: number | undefined, most: number | undefined, what: string) => {
    if (least !== undefined && most !== undefined) return [`${least}–${most}${what}`];
    if (most !== undefined) return [`at most ${most}${what}`];
    return least ? [`at least ${least}${what}`] : [];
  };
  return [
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...(pattern ? [`matches \`${pattern}\``] : []),
    ...(preset === undefined ? [] : [`default \`${JSON.stringify(preset)}\``]),
  ];
}

function Row({ field: { name, schema, required, form } }: { field: Field }) {
  const more = limits(schema);
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
        {required && <small> required{form > 0 && `, form ${form}`}</small>}
      </th>
      <td>
        <Type schema={schema} />
        {more.length > 0 && (
          <small>
            <br />
            <Inline text={more.join('\n')} />
          </small>
        )}
      </td>
      <td>
        <Inline text={schema['description'] ?? ''} />
      </td>
    </tr>
  );
}

interface FieldsProps {
  document: Document;
  schema: Schema;
  caption: string;
  /** What they are fields of. */
  of: string;
}

/** The fields of a type. */
export function Fields({ document, schema, caption, of }: FieldsProps) {
  const fields = fieldsOf(document, schema);
  const forms = Math.max(0, ...fields.map(({ form }) => form));
  if (fields.length === 0) return <p>{caption}: none.</p>;
  return (
    <div class="wide" role="region" aria-label={`${caption} of ${of}`} tabIndex={0}>
      <table>
        <caption>
          {caption}
          {forms > 0 && `; in one of ${forms} forms`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <Row key={`${field.name} ${field.form}`} field={field} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

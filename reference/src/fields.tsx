// The fields of a type.

import type { Document, Schema } from './document.ts';
import { typeName } from './document.ts';
import { defaultOf, limits } from './limits.ts';
import { combinations, fieldsOf, list, nestedType, resolve, type Field } from './schema.ts';
import { Line, Text } from './text.tsx';

interface FieldsProps {
  document: Document;
  schema: Schema;
  /** The anchor of the type or of the operation, if the fields are to have anchors. */
  id?: string;
  /** Whether the caller passes the fields. The limits of fields that it receives are not shown. */
  isInput: boolean;
}

/** The fields of a type, with the combinations of them that the type permits. */
export function Fields({ document, schema, id, isInput }: FieldsProps) {
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) return <p class="none">No fields.</p>;
  return (
    <>
      {combinations(resolve(document, schema)).map((text) => (
        <div key={text} class="forms">
          <Text text={text} />
        </div>
      ))}
      <dl class="fields">
        {fields.map((field) => (
          <Entry key={field.name} document={document} field={field} id={id} isInput={isInput} />
        ))}
      </dl>
    </>
  );
}

interface EntryProps {
  document: Document;
  field: Field;
  id: string | undefined;
  isInput: boolean;
}

function Entry({ document, field: { name, schema, required }, id, isInput }: EntryProps) {
  const nested = nestedType(document, schema);
  const preset = defaultOf(schema);
  const rules = isInput ? limits(schema) : [];
  return (
    <div id={id && `${id}.${name}`}>
      <dt>
        <code>{name}</code>{' '}
        <span class="type">
          <Type document={document} schema={schema} />
        </span>
        {isInput && required && <span class="required">required</span>}
        {!isInput && !required && <span class="type">optional</span>}
      </dt>
      <dd>
        <Text text={description(document, schema)} />
        {(rules.length > 0 || (isInput && preset !== undefined)) && (
          <p class="limits">
            <Line text={[...rules, ...(preset === undefined ? [] : [`default \`${preset}\``])].join('; ')} />
          </p>
        )}
        {nested !== undefined && <Nested name={nested} />}
      </dd>
    </div>
  );
}

/** A type that the script of the page shows in place. Without the script, it is a link to the type. */
export function Nested({ name }: { name: string }) {
  return (
    <details class="nested" data-type={name}>
      <summary>Fields of {name}</summary>
      <p>
        <a href={`#type-${name}`}>{name}</a>
      </p>
    </details>
  );
}

/** Returns the description of a field. The values of an enumeration are described where it is used. */
function description(document: Document, schema: Schema): string {
  const own = schema['description'] ?? '';
  if (VALUE_LIST.test(own) || typeName(schema) === 'Code') return own;
  const [values] = VALUE_LIST.exec(resolve(document, schema)['description'] ?? '') ?? [];
  return resolve(document, schema)['enum'] && values ? own + values : own;
}

/** Returns whether the description of a field lists the values of its enumeration. */
function hasValueList(document: Document, schema: Schema): boolean {
  return VALUE_LIST.test(description(document, schema));
}

/** A list in a description. */
const VALUE_LIST = /\n\n- [^]*/;

/** The type of a value, in words. */
export function Type({ document, schema }: { document: Document; schema: Schema }) {
  const name = typeName(schema);
  if (name === 'Code') return <a href="/docs/errors">error code</a>;
  const {
    const: constant,
    enum: values,
    items,
    format,
    type,
    additionalProperties,
  } = resolve(document, schema);
  const orText = schema['anyOf']?.some((part: Schema) => part['type'] === 'string') ? ' or string' : '';
  if (name !== undefined && !values) return <>{name + orText}</>;
  if (constant !== undefined) return <code>{JSON.stringify(constant)}</code>;
  if (values) return hasValueList(document, schema) ? <>{plain(type)}</> : <Line text={list(values, 'or')} />;
  if (items) {
    return (
      <>
        list of <Type document={document} schema={items} />
        {items.type && 's'}
      </>
    );
  }
  if (additionalProperties?.type) return <>map of {additionalProperties.type}s</>;
  if (format === 'date-time') return <>time</>;
  return <>{plain(type)}</>;
}

/** Returns the names of types without `null`, which is the same as an absent field. */
function plain(types: string | string[] = 'any'): string {
  return [types]
    .flat()
    .filter((type) => type !== 'null')
    .join(' or ');
}

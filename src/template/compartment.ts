import 'ses';

/** What a template may use of the language. All else is deleted: no clock, no randomness, no dynamic code, no shared memory. */
export const ALLOWED_GLOBALS: readonly string[] = [
  ...['Array', 'BigInt', 'Boolean', 'Error', 'JSON', 'Map', 'Math', 'Number', 'Object', 'RangeError', 'RegExp', 'Set'],
  ...['String', 'Symbol', 'SyntaxError', 'TypeError', 'Infinity', 'NaN', 'undefined', 'isFinite', 'isNaN'],
  ...['parseFloat', 'parseInt', 'decodeURIComponent', 'encodeURIComponent'],
];

let locked = false;

/**
 * Freezes the language's own objects for good, in this thread. Called once by the render thread before anything of a
 * template is evaluated; never in a process that runs other people's code (jest), whose globals it would freeze.
 */
export function lockdownThread(): void {
  if (locked) return;
  lockdown({
    // Stacks name the template's line; they never leave the process.
    errorTaming: 'unsafe',
    stackFiltering: 'verbose',
    overrideTaming: 'severe',
    consoleTaming: 'unsafe',
    // Its own traps print "SES_UNCAUGHT_EXCEPTION: {}" and hide the error.
    errorTrapping: 'none',
    unhandledRejectionTrapping: 'none',
  });
  locked = true;
}

export interface TemplateCompartment {
  evaluate(program: string): unknown;
  /** The compartment's own allowed globals, to be bound as constants. */
  readonly globals: Readonly<Record<string, unknown>>;
}

export function createCompartment(): TemplateCompartment {
  const compartment = new Compartment({ globals: {}, __options__: true });
  const { globalThis: own } = compartment;
  const allowed = new Set(ALLOWED_GLOBALS);
  for (const name of Object.getOwnPropertyNames(own)) if (!allowed.has(name)) delete own[name];
  const globals = Object.fromEntries(ALLOWED_GLOBALS.map((name) => [name, own[name]]));
  // Else a template could keep state between calls there.
  harden(own);
  return { evaluate: (program) => compartment.evaluate(program), globals };
}

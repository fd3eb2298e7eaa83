/** The two ways the service answers: by the letter of the specification, or as deployments of the interface are seen to answer. */

export const profileNames = ['specification', 'published'] as const;
export type ProfileName = (typeof profileNames)[number];

/** Authentication errors come as JSON, or as the page of a front-end server. */
export type AuthErrors = 'json' | 'html';
/** How a time in UTC ends. */
export type ZoneText = '+00:00' | 'Z';

export interface Profile {
  readonly authErrors: AuthErrors;
  /** The 403 of a path or region outside the plan. */
  readonly gateErrors: AuthErrors;
  /** Also what real clients ask beyond the specification. */
  readonly extras: boolean;
  readonly zone: ZoneText;
  readonly sendsRequestId: boolean;
  /** `last_updated` without `updated_since`. */
  readonly alwaysSendsLastUpdated: boolean;
  /** The only endpoints that my-access lists; absent: all that are open. */
  readonly listedEndpoints?: readonly string[];
  /** `error` beside the `detail` of a 422. */
  readonly namesErrorBesideDetail: boolean;
  readonly fuelMix: { readonly units: string; readonly gas: string };
  readonly usernameTaken: (username: string) => string;
  /** The message beside the error "Coordinates not found". */
  readonly outsideCoverage: (place: string, signalType: string) => string;
}

const profiles: Readonly<Record<ProfileName, Profile>> = {
  specification: {
    authErrors: 'json',
    gateErrors: 'json',
    extras: false,
    zone: '+00:00',
    sendsRequestId: true,
    alwaysSendsLastUpdated: true,
    namesErrorBesideDetail: false,
    fuelMix: { units: 'share_of_marginal_generation', gas: 'natural_gas' },
    usernameTaken: (username) => `The username ${username} is taken.`,
    outsideCoverage: (place, signalType) =>
      `Coordinates not found: ${place} lies outside the regions of ${signalType}.`,
  },
  published: {
    authErrors: 'html',
    gateErrors: 'html',
    extras: true,
    zone: 'Z',
    sendsRequestId: false,
    alwaysSendsLastUpdated: false,
    listedEndpoints: ['v3/forecast', 'v3/historical'],
    namesErrorBesideDetail: true,
    fuelMix: { units: 'proportion', gas: 'gas' },
    usernameTaken: () => 'That username is taken. Please choose another.',
    outsideCoverage: () => 'No coverage available for these coordinates and signal_type',
  },
};

/** A profile with what the owner sets apart from it; `authErrors: json` turns its other pages into JSON too. */
export function buildProfile(
  name: ProfileName,
  overrides: { readonly authErrors?: AuthErrors | undefined; readonly extras?: boolean | undefined },
): Profile {
  const profile = profiles[name];
  const { authErrors = profile.authErrors, extras = profile.extras } = overrides;
  return { ...profile, authErrors, extras, gateErrors: authErrors === 'json' ? 'json' : profile.gateErrors };
}

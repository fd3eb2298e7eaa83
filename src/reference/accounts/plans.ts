/** What each plan opens (specification 1.4 and 1.5). */

import { PREVIEW_REGION } from '../world/catalogue.ts';

export const planNames = ['free', 'basic', 'analyst', 'pro'] as const;
export type PlanName = (typeof planNames)[number];

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);

/** Forecast, past forecasts and history of a region. */
export const hasDataAccess = (plan: PlanName, region: string) => plan !== 'free' || region === PREVIEW_REGION;
export const hasMapAccess = (plan: PlanName) => plan === 'analyst' || plan === 'pro';
export const hasMarginalAccess = (plan: PlanName) => plan === 'pro';

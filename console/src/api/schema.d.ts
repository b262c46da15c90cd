export interface paths {
    "/api/v1/datasets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Datasets, the newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    pageToken?: string;
                    /** @example name~wiki */
                    filter?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Dataset"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Creates a dataset; versions say where its data is. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateDataset"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Id"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One dataset with its versions. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Dataset"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Forgets a dataset that no open task needs. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasets/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All versions of a dataset, the newest first. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_DatasetVersion"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Adds a version to a dataset. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateDatasetVersion"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Id"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Environments, in the order in which they first came. */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    /** @description `nextPageToken` of the page before */
                    pageToken?: string;
                    /** @example status=running,busy zone=北京可用区A gpu=A100 kind=jupyter image~pytorch name~env label.team=nlp */
                    filter?: string;
                    /**
                     * @description name, zone, status, gpuCount, uptime or createdAt
                     * @example gpuCount desc
                     */
                    orderBy?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Environment"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One environment. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Environment"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Forgets an environment that is offline and holds no task. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes an environment out of service: what runs there goes on, and nothing new starts. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/lost": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Declares the machine of an environment lost: its runs are taken for ended, and tasks that may start again wait for a
         *     machine under its name.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the machine did in the last hour, as far as the server remembers. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_EnvironmentMetrics"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/replace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets another machine take the name of an environment whose own is lost. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Puts an environment back into service. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revokes the credential of an environment: its agent is hung up on, and a machine takes the name only with a token that is
         *     made from now on. What runs there goes on.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/environments/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives the agent of an environment another credential, at once or when it next comes. Nothing that runs notices. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of the whole cluster, oldest first.
         * @description `Accept: text/event-stream` (or `application/x-ndjson`) gives those that are new, as they happen; with `after` or
         *     `Last-Event-ID` everything behind that cursor comes first.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Only events behind this cursor */
                    after?: string;
                    /** @description 50 when not given */
                    pageSize?: number;
                    /** @description `nextPageToken` of the page before */
                    pageToken?: string;
                    /** @description How the kind begins, such as `task.` */
                    kind?: string;
                    /** @description Only events of this environment */
                    environment?: string;
                    /** @description Only what this user has asked for; `*` for any user */
                    user?: string;
                    /** @description Only events of this time or later, in Unix milliseconds */
                    since?: number;
                    /** @description Only events before this time, in Unix milliseconds */
                    until?: number;
                    /** @description The last `pageSize` events, in one page */
                    newest?: boolean;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Event"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/frameworks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The cards of the frameworks, in the order of the form. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_FrameworkCard"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Groups in the order in which they were made; last, as `unassigned`, the workers that are in none. */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    pageToken?: string;
                    /** @example name~llm */
                    filter?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Group"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Creates a group, with workers or without. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateGroup"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Group"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One group. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Group"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Forgets a group on which no task is open; its workers are in none then. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /** Changes the name or the configuration. What runs is not touched; the next start has the new configuration. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ChangeGroup"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Group"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/api/v1/groups/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks the nodes of a group whether they find and reach their master, and answers the whole troubleshooting list. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Check"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{id}/ranks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The rank table of a group as things stand: RANK, LOCAL_RANK, NODE_RANK and WORLD_SIZE of each worker. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_GroupRanks"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts a command on the ranks of a group: a task with `launchMode: {"group": …}`, after all checks. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["StartGroup"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_StartGroupAnswer"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends all tasks of a group that are not over, by their stop ladders or at once. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["StopRequest"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_BulkAnswer"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{id}/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Moves workers into a group, all of them or none; each leaves the group in which it was. `unassigned` takes them out. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["MoveWorkers"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_MoveAnswer"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Models, the newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    pageToken?: string;
                    /** @example name~llama */
                    filter?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Model"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Creates a model. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateModel"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Id"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One model. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Model"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Forgets a model that no open task needs. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts, the tasks that are not over, and the last events. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Overview"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Plans a model on the GPUs of environments: which strategy, whether it fits, how fast it is, how it scales. Nothing is
         *     stored.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PlanRequest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_PlanReport"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/preflights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The preflights that are going on and the last of those that are over, the newest first. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Preflight"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /**
         * Lets the agents of these environments check each other: versions, who reaches whom and how fast, clocks, a real
         *     all-reduce, a shared folder. It takes a minute at most and goes on by itself; ask for it again by its id.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["StartPreflight"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Preflight"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/preflights/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How far a preflight is, or what it has found. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Preflight"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The names of one's own and of shared secrets; an administrator sees those of everyone. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Secret"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Keeps a secret, in the place of one of the same name: one's own, or as an operator one for all. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SetSecret"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Secret"];
                    };
                };
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Deletes a secret: one's own, or as an operator one that is shared or another user's. Tasks that name it and have not
         *     started are not started any more, and say so.
         */
        delete: {
            parameters: {
                query?: {
                    /** @description The one that is everyone's */
                    shared?: boolean;
                    /** @description Whose it is; one's own when not given */
                    owner?: string;
                };
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/server/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the server keeps and why, what the disk has, and how the loops beside the requests fare. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_ServerStatus"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/server/strays": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The runs that this database has never launched. They go on until somebody ends them. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Stray"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/server/strays/{run}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends such a run; what is left of it on its node is removed, but for what it wrote to its outputs. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    run: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** On whose behalf this request comes. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Session"];
                    };
                };
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Opens a session: a user with a password, or a token, for a cookie; with `tokenName` for a token instead. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LogIn"];
                };
            };
            responses: {
                /** @description The session, and its cookie */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Session"];
                    };
                };
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        /** Ends the session, or revokes the token, with which this request comes. The server's own token stays. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_LoggedOut"];
                    };
                };
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a folder of code. The header says what its digest must be. */
        post: {
            parameters: {
                query?: never;
                header: {
                    /** @description `sha256:` and 64 hexadecimal digits */
                    "X-Fermi-Digest": string;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/gzip": number[];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Snapshot"];
                    };
                };
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/snapshots/{digest}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The snapshot itself; `HEAD` tells whether it is there. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    digest: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The packed folder */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/gzip": unknown;
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One's own tokens and sessions; an administrator sees everyone's. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Token"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Makes a token. The answer shows it, and nothing does again: only its digest is kept. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateToken"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_MadeToken"];
                    };
                };
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a token or ends a session: one's own, or as an administrator anyone's. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tasks, the newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    /** @description `nextPageToken` of the page before */
                    pageToken?: string;
                    /** @example phase=running,failed name~bert environment=env-001 label.team=nlp */
                    filter?: string;
                    /** @example createdAt desc */
                    orderBy?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_TaskRow"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Creates a task and starts it as soon as its workers are free. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateRequest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_CreateAnswer"];
                    };
                };
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                413: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                415: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Does one thing with many tasks; each is answered for itself. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["BulkRequest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_BulkAnswer"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Checks a create request and shows what it would start; nothing is stored. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateRequest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Preview"];
                    };
                };
                400: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A task with everything about it. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Task"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Forgets a task that is over, with its logs. */
        delete: {
            parameters: {
                query?: {
                    /** @description Also while the rest of its logs is still to come from its nodes */
                    force?: boolean;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/clone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a task like this one. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["CloneRequest"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_CreateAnswer"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events of one task, oldest first; as a stream they begin with the first one. */
        get: {
            parameters: {
                query?: {
                    /** @description Only events behind this cursor */
                    after?: string;
                    /** @description 50 when not given */
                    pageSize?: number;
                    /** @description `nextPageToken` of the page before */
                    pageToken?: string;
                    /** @description How the kind begins, such as `attempt.` */
                    kind?: string;
                    /** @description Only events of this environment */
                    environment?: string;
                    /** @description Only what this user has asked for; `*` for any user */
                    user?: string;
                    /** @description Only events of this time or later, in Unix milliseconds */
                    since?: number;
                    /** @description Only events before this time, in Unix milliseconds */
                    until?: number;
                    /** @description The last `pageSize` events, in one page */
                    newest?: boolean;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Event"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why a task is where it is: what it waits for, what its nodes are asked to do, why it failed and what to do. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Explanation"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/launch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is started for a task: files, command and variables, rank by rank. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Launch"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What ranks wrote.
         * @description JSON by default: the last 200 lines of each stream, or from `offset` on. `Accept: text/plain` gives the bytes as they
         *     are, with `follow=true` as they come; `text/event-stream` and `application/x-ndjson` give a `LogPiece` each.
         */
        get: {
            parameters: {
                query?: {
                    /** @description One rank; all when not given */
                    rank?: number;
                    /** @description `stdout`, `stderr` or `all` */
                    stream?: string;
                    /** @description The newest when not given */
                    attempt?: number;
                    /** @description So many lines of each stream, from its end */
                    tail?: number;
                    /** @description From this byte on; needs one rank and one stream */
                    offset?: number;
                    /** @description At most so many bytes of each stream */
                    limitBytes?: number;
                    /** @description Go on until the task is over */
                    follow?: boolean;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The logs */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Logs"];
                        "text/plain": string;
                        "text/event-stream": string;
                        "application/x-ndjson": string;
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/logs/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lines that contain a text, over all ranks. An empty page with a `nextPageToken` means: not yet, look on. */
        get: {
            parameters: {
                query: {
                    /** @description A text within one line */
                    query: string;
                    ignoreCase?: boolean;
                    /** @description 100 when not given */
                    limit?: number;
                    pageToken?: string;
                    rank?: number;
                    /** @description `stdout`, `stderr` or `all` */
                    stream?: string;
                    /** @description The newest when not given */
                    attempt?: number;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_LogSearch"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Loss, speed and whatever else ranks report, and the use of their machines.
         * @description Where there are more points than `maxPoints`, each one stands for a stretch with its least and greatest value.
         */
        get: {
            parameters: {
                query?: {
                    /**
                     * @description Names by commas; all when not given
                     * @example loss,tokensPerS
                     */
                    series?: string;
                    /** @description 500 when not given */
                    maxPoints?: number;
                    /** @description One rank; all when not given */
                    rank?: number;
                    /** @description The newest when not given */
                    attempt?: number;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Metrics"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/ranks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is which rank, and how each fares. */
        get: {
            parameters: {
                query?: {
                    /** @description The newest when not given */
                    attempt?: number;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Rank"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts a task anew: now if it is over, else as soon as it has ended. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Empty"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_TaskRow"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/stacks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks all ranks of a running task where they stand. Each gets a signal, at which its hook writes the stacks of its threads. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Empty"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Stacks"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What one rank of an attempt was really started with: command line, folder, variables, when, where, by which release. */
        get: {
            parameters: {
                query?: {
                    /** @description 0 when not given */
                    rank?: number;
                    /** @description The newest that is kept when not given */
                    attempt?: number;
                };
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_RankStart"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/training-tasks/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a task by its stop ladder, or at once. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description The same key and body give the same answer */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["StopRequest"] | null;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_TaskRow"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All users, by name. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_User"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Adds a user. One of this name that was removed is back, with what was theirs. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateUser"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_User"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Removes a user, whose sessions and tokens end at once. What is theirs stays theirs. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        /** Gives a user another role, from the next request on. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ChangeUser"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        trace?: never;
    };
    "/api/v1/users/{name}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A company account is this user from now on. A user has one, and an account is one user's: what either was linked to before
         *     is replaced.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["LinkUser"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets a password: one's own, which takes the one until now, or as an administrator another's. Sessions of that user end,
         *     but for the one that asks.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: string;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SetPassword"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                401: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                403: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                429: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All webhooks, with how far each has got. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_Webhook"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        /** Adds a webhook; it is told of what happens from now on. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CreateWebhook"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Id"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Removes a webhook; what it has not been told of is not told. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a test message now, and says what the receiver made of it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                409: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                502: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All workers by environment and number, with group, GPU, status and holder. A worker of a group that does not exist now
         *     is there as `missing`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description 50 when not given */
                    pageSize?: number;
                    /** @description `nextPageToken` of the page before */
                    pageToken?: string;
                    /** @example group=llm status=free environment=gn6 gpu=A100 id~gn */
                    filter?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Page_WorkerRow"];
                    };
                };
                422: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process answers. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Empty"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers for Prometheus. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description OpenMetrics */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/openmetrics-text": unknown;
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The store can be read, every loop that runs beside the requests does its work, and the disk has room for commits. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Readiness"];
                    };
                };
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Which release this is, and where people log in with a company account. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Envelope_Version"];
                    };
                };
                /** @description The answer did not begin in time (`timeout`); what was asked for may still happen */
                504: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
                /** @description What is wrong, and what to do */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Failure"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description Something that can be done with a task, a dataset, a model or a group.
         * @enum {string}
         */
        Action: "stop" | "restart" | "clone" | "change" | "delete";
        /** @description The sums that the summary card shows. */
        Aggregate: {
            /** Format: int32 */
            nodeCount: number;
            /** Format: int32 */
            totalGpus: number;
            /**
             * Format: int32
             * @description The number of ranks; differs from the GPUs where an environment has none.
             */
            totalWorkers: number;
            /** Format: int32 */
            totalCpus: number;
            /** Format: int64 */
            totalMemory: number;
            /** @description Distinct, in the order of the environments. */
            gpuTypes: string[];
            /** @description Distinct, in the order of the environments; those without a zone add none. */
            zones: string[];
            isDistributed: boolean;
        };
        /** @description Whether it can be done now, by the one who asks. Pages ask here and know no rule themselves. */
        AllowedAction: {
            action: components["schemas"]["Action"];
            allowed: boolean;
            reason?: components["schemas"]["Text"] | null;
        };
        /** @description One launch of all ranks. */
        Attempt: {
            /** Format: int32 */
            number: number;
            /** Format: int64 */
            generation: number;
            status: components["schemas"]["AttemptPhase"];
            statusText: components["schemas"]["Text"];
            /** Format: int64 */
            startedAt: number;
            /** Format: int64 */
            endedAt?: number | null;
            /** @description Whether it continued from a checkpoint. */
            resumed: boolean;
            /**
             * Format: int32
             * @description Ranks that were seen to start.
             */
            ranksStarted: number;
            verdict?: components["schemas"]["Verdict"] | null;
        };
        /**
         * @description Where an attempt stands.
         * @enum {string}
         */
        AttemptPhase: "prepared" | "launching" | "running" | "stopping" | "succeeded" | "failed" | "stopped";
        /** @description What Fermi shall pick: as many nodes, with as much on each, of such a kind. */
        AutoSelection: {
            /**
             * Format: int32
             * @default 1
             */
            nodes?: number;
            /**
             * Format: int32
             * @description Workers with a GPU on each node. At most one of this and `workersPerNode` is given.
             * @default null
             */
            gpusPerNode?: number | null;
            /**
             * Format: int32
             * @description Workers on each node, with a GPU or without.
             * @default null
             */
            workersPerNode?: number | null;
            /**
             * @description Such as `A100`; any where none is named.
             * @default null
             */
            gpuType?: string | null;
            /**
             * @description The zone in which all nodes shall be; any where none is named.
             * @default null
             */
            zone?: string | null;
            /**
             * @description Labels that each environment must have.
             * @default {}
             */
            labels?: {
                [key: string]: string;
            };
        };
        /** @description A rank for which others wait. */
        AwaitedRank: {
            /** Format: int32 */
            rank: number;
            node: string;
            standing: components["schemas"]["Standing"];
            phase?: components["schemas"]["Phase"] | null;
        };
        /**
         * @description What carries the collectives.
         * @enum {string}
         */
        Backend: "nccl" | "gloo" | "mpi";
        /** @description A loop that runs beside the requests. */
        BackgroundLoop: {
            /** @example placement */
            name: string;
            /**
             * Format: int64
             * @description It runs at least this often.
             */
            periodMs: number;
            /** Format: int64 */
            runs: number;
            /** Format: int64 */
            failures: number;
            /** Format: int64 */
            panics: number;
            lastRun?: components["schemas"]["LastRun"] | null;
        };
        /** @description What became of each. */
        BulkAnswer: {
            /** @description In the order of the request. */
            results: components["schemas"]["BulkResult"][];
            /** Format: int32 */
            succeeded: number;
            /** Format: int32 */
            failed: number;
        };
        /** @description The body of `POST /training-tasks/bulk`. */
        BulkRequest: {
            action: components["schemas"]["BulkVerb"];
            /** @description At most 1,000. */
            ids: string[];
            /** @description For `stop`: at once, without a grace. For `delete`: also while the rest of the logs is still to come. */
            force?: boolean;
        };
        /** @description What became of one. */
        BulkResult: {
            id: string;
            /**
             * Format: int32
             * @description The status that it alone would have got.
             */
            code: number;
            /** @description In the caller's language. */
            message: string;
        };
        /**
         * @description What is done with many tasks at once.
         * @enum {string}
         */
        BulkVerb: "stop" | "restart" | "delete";
        /**
         * Format: int64
         * @description An amount of memory or storage. People read it in whole GiB, which the pages call GB as the trade does.
         */
        Bytes: number;
        /** @description A line of the summary card. */
        CardLine: {
            text: components["schemas"]["Text"];
        };
        /**
         * @description Why a second went by.
         * @enum {string}
         */
        Cause: "productive" | "noSteps" | "queue" | "spawn" | "import" | "init" | "load" | "firstStep" | "checkpointStall" | "slowRank" | "hang" | "detect" | "stop" | "backOff" | "nodeWait" | "recompute";
        /** @description The body of `PATCH /groups/{id}`. */
        ChangeGroup: {
            /** @default null */
            name?: string | null;
            /** @default {} */
            config?: components["schemas"]["GroupConfigChange"];
            /**
             * Format: int64
             * @description The version that was seen; refused where it is another one now.
             * @default null
             */
            version?: number | null;
        };
        /** @description The body of `PATCH /users/{name}`. */
        ChangeUser: {
            /** @example operator */
            role: string;
        };
        /** @description One question of the troubleshooting list with its answer. */
        Check: {
            /** @example master_address */
            id: string;
            state: components["schemas"]["CheckState"];
            text: components["schemas"]["Text"];
            hint?: components["schemas"]["Text"] | null;
        };
        /**
         * @description How a question is answered.
         * @enum {string}
         */
        CheckState: "passed" | "warning" | "failed" | "unknown";
        /**
         * @description What became of a stated checksum.
         * @enum {string}
         */
        ChecksumProof: "none" | "matches" | "notChecked";
        /** @description The body of `POST /training-tasks/{id}/clone`; may be left out. */
        CloneRequest: {
            /**
             * @description The old name with `-copy` behind it when not given.
             * @default null
             */
            taskName?: string | null;
        };
        /** @description The answer to `POST /training-tasks` and `…/clone`. */
        CreateAnswer: {
            /** @example task-distributed-001 */
            taskId: string;
            status: components["schemas"]["TaskPhase"];
            distributedInfo?: components["schemas"]["DistributedInfo"] | null;
            /**
             * @description The line under the message, in the caller's language.
             * @example 分布式训练 · 3个节点 · 总计14个GPU
             */
            description: string;
            warnings: components["schemas"]["Warning"][];
            /** @description What was decided for the launch, in the caller's language; also among the task's events. */
            notes?: string[];
            plan?: components["schemas"]["Plan"] | null;
            /** @description Nothing was made: this is the task that the sweep has for these parameters already. */
            existing?: boolean;
        };
        /** @description The body of `POST /datasets`. */
        CreateDataset: {
            /** @default  */
            name?: string;
            /** @default null */
            description?: string | null;
        };
        /** @description The body of `POST /datasets/{id}/versions`. */
        CreateDatasetVersion: {
            /**
             * @default
             * @example v1
             */
            version?: string;
            /**
             * @description Where every node finds it: an absolute path, or a URI that the training itself reads.
             * @default
             */
            path?: string;
            /**
             * Format: int64
             * @description In bytes, of all files together; compared on each node when a task starts.
             * @default null
             */
            size?: number | null;
            /**
             * @description `sha256:…` of one file, or `sampled:…` as `fermi dataset inspect` prints it; compared on each node when a task
             *     starts.
             * @default null
             */
            checksum?: string | null;
            /**
             * @description Such as jsonl, parquet or arrow; compared on each node when a task starts.
             * @default null
             */
            format?: string | null;
        };
        /** @description The body of `POST /groups`. */
        CreateGroup: {
            /**
             * @default
             * @example llm
             */
            name?: string;
            /**
             * @default {
             *       "masterAddr": null,
             *       "worldSize": null,
             *       "masterPort": 29500,
             *       "backend": "nccl"
             *     }
             */
            config?: components["schemas"]["GroupConfig"];
            /**
             * @description Workers that it shall have from the start; each leaves the group in which it was.
             * @default []
             */
            workers?: string[];
        };
        /** @description The body of `POST /models`. */
        CreateModel: {
            /** @default  */
            name?: string;
            /**
             * @description Where every node finds its weights: an absolute path, a hub's name such as facebook/opt-350m, or a URI.
             * @default null
             */
            path?: string | null;
            /** @default null */
            description?: string | null;
            /** @default null */
            architecture?: components["schemas"]["ModelNumbers"] | null;
        };
        /** @description A create request as it came: everything may be missing. */
        CreateRequest: {
            /** @default  */
            taskName?: string;
            /** @default null */
            datasetId?: string | null;
            /** @default null */
            datasetVersionId?: string | null;
            /** @default null */
            modelId?: string | null;
            /**
             * @description Where the workers come from.
             * @default existing
             */
            launchMode?: components["schemas"]["Selection"];
            /**
             * @default {
             *       "enabled": null,
             *       "nodeIds": [],
             *       "masterNode": null,
             *       "framework": null,
             *       "strategy": null,
             *       "workers": {}
             *     }
             */
            distributedConfig?: components["schemas"]["RequestedNodes"];
            /** @default null */
            command?: components["schemas"]["RequestedCommand"] | null;
            /** @default null */
            recipe?: components["schemas"]["RequestedRecipe"] | null;
            /** @default null */
            source?: components["schemas"]["Source"] | null;
            /**
             * @default {
             *       "backend": null,
             *       "masterPort": null,
             *       "interface": null,
             *       "timeout": null,
             *       "ncclDebug": null,
             *       "infiniband": null,
             *       "p2p": null,
             *       "torchDebug": null,
             *       "cudaLaunchBlocking": null,
             *       "framework": {}
             *     }
             */
            options?: components["schemas"]["LaunchOptions"];
            /**
             * @default {
             *       "restart": {
             *         "maxRestarts": 0
             *       },
             *       "stop": {
             *         "checkpoint": null,
             *         "plannedGraceMs": 30000,
             *         "failureGraceMs": 50
             *       },
             *       "nodeLostAfter": 15,
             *       "onDisconnect": "keep"
             *     }
             */
            policies?: components["schemas"]["Policies"];
            /**
             * Format: int32
             * @default 0
             */
            priority?: number;
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
        };
        /** @description The body of `POST /tokens`. */
        CreateToken: {
            /**
             * @description What it is for.
             * @default
             * @example nightly build
             */
            name?: string;
            /**
             * @description The most that its holder may do; one's own role when not given, and never more.
             * @default null
             * @example viewer
             */
            role?: string | null;
            /**
             * @description `api`, or `agent` for a machine: such a token is taken from agents and opens nothing else.
             * @default api
             * @example api
             */
            scope?: string;
            /**
             * Format: int64
             * @description For how many seconds; 90 days when not given.
             * @default null
             */
            expiresInS?: number | null;
            /**
             * Format: int32
             * @description With the scope `agent`: how many machines may come with it; as many as there are when not given.
             * @default null
             */
            uses?: number | null;
            /**
             * @description With the scope `agent`: the zone of machines that come with it, whatever they say.
             * @default null
             * @example zone-a
             */
            zone?: string | null;
            /**
             * @description With the scope `agent`: labels of machines that come with it.
             * @default {}
             */
            labels?: {
                [key: string]: string;
            };
        };
        /** @description The body of `POST /users`. */
        CreateUser: {
            /** @example ann */
            name: string;
            /**
             * @description `viewer`, `member`, `operator` or `administrator`.
             * @example member
             */
            role: string;
            /** @description At least 8 bytes. */
            password: string;
        };
        /** @description The body of `POST /webhooks`. */
        CreateWebhook: {
            /**
             * @default
             * @example team-chat
             */
            name?: string;
            /**
             * @description `http://` or `https://`.
             * @default
             * @example https://open.feishu.cn/open-apis/bot/v2/hook/…
             */
            url?: string;
            /** @default null */
            format?: components["schemas"]["WebhookFormat"] | null;
            /**
             * @description What it is told of; everything when not given.
             * @default null
             */
            topics?: components["schemas"]["WebhookTopic"][] | null;
            /**
             * @description Only this user's tasks.
             * @default null
             */
            owner?: string | null;
            /**
             * @description With which deliveries are signed; never shown again.
             * @default null
             */
            secret?: string | null;
            /**
             * @description `zh-CN` or `en`.
             * @default zh-CN
             * @example zh-CN
             */
            language?: string;
        };
        /** @description A named set of data. */
        Dataset: {
            /** @example dataset-001 */
            id: string;
            name: string;
            description?: string | null;
            /** @description The newest first. */
            versions: components["schemas"]["DatasetVersion"][];
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** @description What the one who asks may do with it. */
            allowedActions?: components["schemas"]["AllowedAction"][];
        };
        /** @description The version of a dataset that a task trains on; a dataset alone would change under the training. */
        DatasetChoice: {
            datasetId: string;
            datasetVersionId: string;
        };
        /** @description One version; what is stated about it never changes. */
        DatasetVersion: {
            /** @example version-001 */
            id: string;
            datasetId: string;
            version: string;
            path: string;
            /** @description What `path` is; only a path is looked at when a task starts. */
            location?: components["schemas"]["LocationKind"];
            /**
             * Format: int64
             * @description In bytes, where it is stated.
             */
            size?: number | null;
            checksum?: string | null;
            format?: string | null;
            /** @description The environments that have seen it when a task started, the newest proof first; at most 256 of them. */
            visibleOn?: components["schemas"]["DatasetVisibility"][];
            /**
             * Format: int64
             * @description How many there are in all.
             */
            visibleOnCount?: number;
            visibility?: components["schemas"]["Text"] | null;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
        };
        /** @description An environment that has seen a version. */
        DatasetVisibility: {
            environment: string;
            environmentName: string;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            provenAt: number;
            /**
             * Format: int64
             * @description In bytes, as it was seen.
             */
            size: number;
            /** Format: int64 */
            files: number;
            /** @description Whether everything was counted; a huge folder is not. */
            isWhole: boolean;
            format?: string | null;
            /** @description What became of the stated checksum. */
            checksum: components["schemas"]["ChecksumProof"];
        };
        /**
         * @description What a request does, as far as it matters who asks.
         * @enum {string}
         */
        Deed: "look" | "ownAccount" | "create" | "change" | "operate" | "join" | "administer";
        /** @description Something that is not for this session, and why. */
        DeniedDeed: {
            deed: components["schemas"]["Deed"];
            reason: components["schemas"]["Text"];
        };
        /** @description The disk of the data folder. */
        DiskStatus: {
            /** Format: int64 */
            freeBytes: number;
            /** Format: int64 */
            sizeBytes: number;
            /**
             * Format: int64
             * @description What is kept free for the database.
             */
            reserveBytes: number;
            /** Format: int64 */
            logBudgetBytes: number;
            /** Format: int64 */
            logBudgetPerTaskBytes: number;
            complaint?: components["schemas"]["Text"] | null;
        };
        /** @description Which environments train together, and how. */
        DistributedConfig: {
            enabled: boolean;
            /** @description In the user's order. */
            nodeIds: components["schemas"]["EnvironmentId"][];
            masterNode?: components["schemas"]["EnvironmentId"] | null;
            framework?: components["schemas"]["Framework"] | null;
            strategy?: components["schemas"]["Strategy"] | null;
            /** @description The workers that were chosen in an environment, by number; all of them where nothing is said. */
            workers?: {
                [key: string]: number[];
            };
            /** @description Workers of the task's group beyond its world size, in the order in which they would be next. */
            standby?: string[];
        };
        /** @description What several nodes are together. */
        DistributedInfo: {
            /** Format: int32 */
            nodeCount: number;
            /** Format: int32 */
            totalGpus: number;
            masterNode: string;
            framework: components["schemas"]["Framework"];
        };
        /** @description There is nothing to say beyond the message. */
        Empty: Record<string, never>;
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_BulkAnswer: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description What became of each. */
            data: {
                /** @description In the order of the request. */
                results: components["schemas"]["BulkResult"][];
                /** Format: int32 */
                succeeded: number;
                /** Format: int32 */
                failed: number;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_CreateAnswer: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /training-tasks` and `…/clone`. */
            data: {
                /** @example task-distributed-001 */
                taskId: string;
                status: components["schemas"]["TaskPhase"];
                distributedInfo?: components["schemas"]["DistributedInfo"] | null;
                /**
                 * @description The line under the message, in the caller's language.
                 * @example 分布式训练 · 3个节点 · 总计14个GPU
                 */
                description: string;
                warnings: components["schemas"]["Warning"][];
                /** @description What was decided for the launch, in the caller's language; also among the task's events. */
                notes?: string[];
                plan?: components["schemas"]["Plan"] | null;
                /** @description Nothing was made: this is the task that the sweep has for these parameters already. */
                existing?: boolean;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Dataset: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A named set of data. */
            data: {
                /** @example dataset-001 */
                id: string;
                name: string;
                description?: string | null;
                /** @description The newest first. */
                versions: components["schemas"]["DatasetVersion"][];
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                createdAt: number;
                /** @description What the one who asks may do with it. */
                allowedActions?: components["schemas"]["AllowedAction"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Empty: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description There is nothing to say beyond the message. */
            data: Record<string, never>;
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Environment: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A place where ranks can run. */
            data: {
                /** @example env-001 */
                id: string;
                name: string;
                kind: components["schemas"]["EnvironmentKind"];
                kindText: components["schemas"]["Text"];
                status: components["schemas"]["EnvironmentStatus"];
                statusText: components["schemas"]["Text"];
                zone?: string | null;
                image?: string | null;
                labels: {
                    [key: string]: string;
                };
                /** @description Where other nodes reach it. */
                address?: string | null;
                /** @description The memory of a GPU is in bytes. */
                gpus: components["schemas"]["Gpus"][];
                /** Format: int32 */
                gpuCount: number;
                /** @description The model of its GPUs, such as `A100`; several are joined by commas; null without GPUs. */
                gpuType?: string | null;
                /** Format: int32 */
                cpuCores: number;
                /**
                 * Format: int64
                 * @description In whole GiB.
                 */
                memory: number;
                /** @description Its resources were written down by somebody, not measured. */
                declared: boolean;
                versions: components["schemas"]["Versions"];
                workers: components["schemas"]["Worker"][];
                /** Format: int32 */
                workersFree: number;
                /**
                 * Format: int64
                 * @description Since its agent was last heard; null when it never was since the server started.
                 */
                heartbeatAgeMs?: number | null;
                /**
                 * Format: int64
                 * @description Unix milliseconds: since when its machine, or its agent, is up.
                 */
                upSince?: number | null;
                machine?: components["schemas"]["MachineNow"] | null;
                gpuSamples: components["schemas"]["GpuNow"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_EnvironmentMetrics: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /environments/{id}/metrics`: what the server remembers, oldest first. */
            data: {
                points: components["schemas"]["MachinePoint"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Explanation: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /training-tasks/{id}/explain`. */
            data: components["schemas"]["TaskCourse"] & {
                taskId: string;
                name: string;
                status: components["schemas"]["TaskPhase"];
                statusText: components["schemas"]["Text"];
                /** @description One sentence that says why. */
                summary: components["schemas"]["Text"];
                advice?: components["schemas"]["Text"] | null;
                waitingFor: components["schemas"]["WaitingFor"][];
                queue?: components["schemas"]["QueuePlace"] | null;
                nodes: components["schemas"]["NodeWish"][];
                verdict?: components["schemas"]["Verdict"] | null;
                attempts: components["schemas"]["Attempt"][];
                /** Format: int32 */
                restartsUsed: number;
                /** Format: int32 */
                maxRestarts: number;
                /** @description The last events, oldest first. */
                events: components["schemas"]["Event"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Group: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A group. */
            data: {
                /**
                 * @description `unassigned` of the one in which the workers are that are in no other.
                 * @example group-001
                 */
                id: string;
                name: string;
                /** @description Whether it is the one of the workers that are in no other: it has no configuration and cannot be changed. */
                isDefault: boolean;
                config: components["schemas"]["GroupConfig"];
                /** @description By node and number. */
                workers: string[];
                /**
                 * Format: int32
                 * @description How many processes a start would have; null where it cannot start.
                 */
                worldSize?: number | null;
                /**
                 * Format: int32
                 * @description How many workers would stand by.
                 */
                standby: number;
                /** @description Tasks on it that are not over. */
                tasks: components["schemas"]["GroupTask"][];
                /** @description What goes wrong with groups, answered as far as it is known without asking nodes. */
                checks: components["schemas"]["Check"][];
                /**
                 * Format: int64
                 * @description Grows with every change.
                 */
                version: number;
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                createdAt: number;
                /** Format: int64 */
                updatedAt: number;
                /** @description What the one who asks may do with it. */
                allowedActions?: components["schemas"]["AllowedAction"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_GroupRanks: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description Who would be which rank, as things stand. */
            data: {
                groupId: string;
                groupName: string;
                /** Format: int64 */
                version: number;
                /** @description MASTER_ADDR as it is configured. */
                masterAddr?: string | null;
                /** Format: int32 */
                masterPort: number;
                backend: components["schemas"]["Backend"];
                /**
                 * Format: int32
                 * @description WORLD_SIZE; null where there are no ranks.
                 */
                worldSize?: number | null;
                /** Format: int32 */
                nodeCount: number;
                /** @description In the order of ranks; those that stand by are last. */
                rows: components["schemas"]["GroupRank"][];
                problem?: components["schemas"]["GroupProblem"] | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Id: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The id of what was made. */
            data: {
                id: string;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Launch: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A launch as people read it. What only a node knows stands in angle brackets, such as `<masterPort>`. */
            data: {
                /** @description The same for every rank. */
                argv: string[];
                directory?: string | null;
                /** @description Written on every node before anything starts. */
                files: components["schemas"]["LaunchFile"][];
                /** @description Of every rank. */
                env: {
                    [key: string]: string;
                };
                /** @description In the order of node ranks. */
                nodes: components["schemas"]["LaunchNode"][];
                /** @description What was decided on the way and why. */
                notes: components["schemas"]["Text"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_LogSearch: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /training-tasks/{id}/logs/search`. */
            data: {
                /** Format: int32 */
                attempt: number;
                items: components["schemas"]["LogMatch"][];
                nextPageToken?: string | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_LoggedOut: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The session here has ended. */
            data: {
                /**
                 * @description Where a browser ends the session at the company's service too; absent where there is none.
                 * @example https://id.example.com/logout?client_id=fermi
                 */
                continueAt?: string | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Logs: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /training-tasks/{id}/logs`. */
            data: {
                /**
                 * Format: int32
                 * @description The attempt that was read; 0 when there has been none.
                 */
                attempt: number;
                /** @description By rank, stdout before stderr. */
                chunks: components["schemas"]["LogChunk"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_MadeToken: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /tokens`. */
            data: components["schemas"]["Token"] & {
                /** @description What is to be shown; shown here and never again. */
                token: string;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Metrics: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /training-tasks/{id}/metrics`. */
            data: {
                /** Format: int32 */
                attempt: number;
                series: components["schemas"]["Series"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Model: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A neural network by its name. */
            data: {
                /** @example model-001 */
                id: string;
                name: string;
                path?: string | null;
                location?: components["schemas"]["LocationKind"] | null;
                description?: string | null;
                architecture?: components["schemas"]["ModelArchitecture"] | null;
                planning?: components["schemas"]["Text"] | null;
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                createdAt: number;
                /** @description What the one who asks may do with it. */
                allowedActions?: components["schemas"]["AllowedAction"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_MoveAnswer: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /groups/{id}/workers`. */
            data: {
                /**
                 * Format: int32
                 * @description How many are in another group than before.
                 */
                moved: number;
                /** @description The group with its workers as they are now. */
                group: components["schemas"]["Group"];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Overview: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /overview`. */
            data: {
                /** @description By status, such as `running`; every status is there. */
                tasks: {
                    [key: string]: number;
                };
                environments: components["schemas"]["EnvironmentCounts"];
                workers: components["schemas"]["WorkerCounts"];
                gpus: components["schemas"]["WorkerCounts"];
                /** @description The newest tasks that are not over. */
                activeTasks: components["schemas"]["TaskRow"][];
                /** @description The last events, newest first. */
                events: components["schemas"]["Event"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Check: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example master_address */
                    id: string;
                    state: components["schemas"]["CheckState"];
                    text: components["schemas"]["Text"];
                    hint?: components["schemas"]["Text"] | null;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Dataset: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example dataset-001 */
                    id: string;
                    name: string;
                    description?: string | null;
                    /** @description The newest first. */
                    versions: components["schemas"]["DatasetVersion"][];
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** @description What the one who asks may do with it. */
                    allowedActions?: components["schemas"]["AllowedAction"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_DatasetVersion: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example version-001 */
                    id: string;
                    datasetId: string;
                    version: string;
                    path: string;
                    /** @description What `path` is; only a path is looked at when a task starts. */
                    location?: components["schemas"]["LocationKind"];
                    /**
                     * Format: int64
                     * @description In bytes, where it is stated.
                     */
                    size?: number | null;
                    checksum?: string | null;
                    format?: string | null;
                    /** @description The environments that have seen it when a task started, the newest proof first; at most 256 of them. */
                    visibleOn?: components["schemas"]["DatasetVisibility"][];
                    /**
                     * Format: int64
                     * @description How many there are in all.
                     */
                    visibleOnCount?: number;
                    visibility?: components["schemas"]["Text"] | null;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Environment: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example env-001 */
                    id: string;
                    name: string;
                    kind: components["schemas"]["EnvironmentKind"];
                    kindText: components["schemas"]["Text"];
                    status: components["schemas"]["EnvironmentStatus"];
                    statusText: components["schemas"]["Text"];
                    zone?: string | null;
                    image?: string | null;
                    labels: {
                        [key: string]: string;
                    };
                    /** @description Where other nodes reach it. */
                    address?: string | null;
                    /** @description The memory of a GPU is in bytes. */
                    gpus: components["schemas"]["Gpus"][];
                    /** Format: int32 */
                    gpuCount: number;
                    /** @description The model of its GPUs, such as `A100`; several are joined by commas; null without GPUs. */
                    gpuType?: string | null;
                    /** Format: int32 */
                    cpuCores: number;
                    /**
                     * Format: int64
                     * @description In whole GiB.
                     */
                    memory: number;
                    /** @description Its resources were written down by somebody, not measured. */
                    declared: boolean;
                    versions: components["schemas"]["Versions"];
                    workers: components["schemas"]["Worker"][];
                    /** Format: int32 */
                    workersFree: number;
                    /**
                     * Format: int64
                     * @description Since its agent was last heard; null when it never was since the server started.
                     */
                    heartbeatAgeMs?: number | null;
                    /**
                     * Format: int64
                     * @description Unix milliseconds: since when its machine, or its agent, is up.
                     */
                    upSince?: number | null;
                    machine?: components["schemas"]["MachineNow"] | null;
                    gpuSamples: components["schemas"]["GpuNow"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Event: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @description Opaque; give it as `after`, or as `Last-Event-ID`, to read on behind it. */
                    cursor: string;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    time: number;
                    /** @description Such as `task.running`, `environment.offline`. */
                    kind: string;
                    /** @description The task or environment that it is about; empty where it is about neither. */
                    subject: string;
                    taskId?: string | null;
                    environmentId?: string | null;
                    /** Format: int32 */
                    attempt?: number | null;
                    /** Format: int32 */
                    rank?: number | null;
                    text: components["schemas"]["Text"];
                    detail?: components["schemas"]["EventDetail"] | null;
                    principal?: components["schemas"]["Principal"] | null;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_FrameworkCard: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    value: components["schemas"]["Framework"];
                    /** @example PyTorch DDP */
                    label: string;
                    /** @description 类型 */
                    kind: components["schemas"]["Text"];
                    /** @description 厂商 */
                    vendor: components["schemas"]["Text"];
                    /** @description 适用 */
                    suits: components["schemas"]["Text"];
                    /** @description 特点 */
                    features: components["schemas"]["Text"][];
                    /** @description Its strategies of data-parallel training, to be compared with those of others. */
                    strategies?: components["schemas"]["StrategyCard"][];
                    /** @description The keys of `options.framework` that it knows. */
                    settings?: components["schemas"]["FrameworkSetting"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Group: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /**
                     * @description `unassigned` of the one in which the workers are that are in no other.
                     * @example group-001
                     */
                    id: string;
                    name: string;
                    /** @description Whether it is the one of the workers that are in no other: it has no configuration and cannot be changed. */
                    isDefault: boolean;
                    config: components["schemas"]["GroupConfig"];
                    /** @description By node and number. */
                    workers: string[];
                    /**
                     * Format: int32
                     * @description How many processes a start would have; null where it cannot start.
                     */
                    worldSize?: number | null;
                    /**
                     * Format: int32
                     * @description How many workers would stand by.
                     */
                    standby: number;
                    /** @description Tasks on it that are not over. */
                    tasks: components["schemas"]["GroupTask"][];
                    /** @description What goes wrong with groups, answered as far as it is known without asking nodes. */
                    checks: components["schemas"]["Check"][];
                    /**
                     * Format: int64
                     * @description Grows with every change.
                     */
                    version: number;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** Format: int64 */
                    updatedAt: number;
                    /** @description What the one who asks may do with it. */
                    allowedActions?: components["schemas"]["AllowedAction"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Model: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example model-001 */
                    id: string;
                    name: string;
                    path?: string | null;
                    location?: components["schemas"]["LocationKind"] | null;
                    description?: string | null;
                    architecture?: components["schemas"]["ModelArchitecture"] | null;
                    planning?: components["schemas"]["Text"] | null;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** @description What the one who asks may do with it. */
                    allowedActions?: components["schemas"]["AllowedAction"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Preflight: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example preflight-1765432100000 */
                    id: string;
                    createdBy: components["schemas"]["Principal"];
                    /** @description The task before whose ranks it happened. */
                    taskId?: string | null;
                    path?: string | null;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    startedAt: number;
                    /**
                     * Format: int64
                     * @description Null while it goes on.
                     */
                    endedAt?: number | null;
                    /** Format: double */
                    seconds: number;
                    /** @description Whether there was no error; null while it goes on, and where the task that waited for it was stopped. */
                    ok?: boolean | null;
                    progress: components["schemas"]["PreflightProgress"];
                    nodes: components["schemas"]["PreflightNode"][];
                    counts: components["schemas"]["FindingCounts"];
                    /** @description `nodes` in it are places of the list above. Empty while it goes on. */
                    findings: components["schemas"]["Finding"][];
                    differences: components["schemas"]["VersionDifference"][];
                    /**
                     * @description The shortest round trips in microseconds, from row to column; null where two do not reach each other, and where there
                     *     was no time to try: those are `untried`.
                     */
                    roundTripsUs: (number | null)[][];
                    /**
                     * @description Row and column of the round trips that were not tried.
                     * @example [
                     *       [
                     *         0,
                     *         3
                     *       ]
                     *     ]
                     */
                    untried?: number[][];
                    /** @description Bytes per second between two; null where nothing was measured. */
                    bytesPerSecond: (number | null)[][];
                    /** @description By the place of the node, its interface at which all others get through; null where there is none. */
                    interfaces?: (string | null)[];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Rank: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** Format: int32 */
                    attempt: number;
                    /** Format: int32 */
                    rank: number;
                    /** Format: int32 */
                    localRank: number;
                    /** Format: int32 */
                    nodeRank: number;
                    worker: string;
                    environment: string;
                    node: string;
                    /** Format: int32 */
                    gpu?: number | null;
                    state: components["schemas"]["RankState"];
                    stateText: components["schemas"]["Text"];
                    /** Format: int32 */
                    pid?: number | null;
                    /** Format: int64 */
                    startedAt?: number | null;
                    /** Format: int64 */
                    endedAt?: number | null;
                    exit?: components["schemas"]["Exit"] | null;
                    exitText?: string | null;
                    /**
                     * Format: float
                     * @description In CPUs, with all its children: 1.5 is one and a half.
                     */
                    cpus?: number | null;
                    /**
                     * Format: int64
                     * @description In bytes, with all its children.
                     */
                    memory?: number | null;
                    /** Format: int64 */
                    step?: number | null;
                    /** Format: double */
                    loss?: number | null;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Secret: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example HF_TOKEN */
                    name: string;
                    /**
                     * @description Whose it is; none of what is shared.
                     * @example ann
                     */
                    owner?: string | null;
                    shared: boolean;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    updatedAt: number;
                    /** @description What the one who asks may do with it. */
                    allowedActions?: components["schemas"]["AllowedAction"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Stray: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example task-12-g1-n0-i1 */
                    run: string;
                    environmentId: string;
                    environment: string;
                    /** @description Something of it may live, as far as its agent has said. */
                    alive: boolean;
                    /** @description Its end was asked for. */
                    ending: boolean;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    foundAt: number;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_TaskRow: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    id: string;
                    name: string;
                    status: components["schemas"]["TaskPhase"];
                    statusText: components["schemas"]["Text"];
                    reason?: components["schemas"]["Text"] | null;
                    headline?: components["schemas"]["Text"] | null;
                    framework?: components["schemas"]["Framework"] | null;
                    /** @description Those that it asked for. */
                    environments: string[];
                    /** Format: int32 */
                    nodeCount: number;
                    /**
                     * Format: int32
                     * @description 0 until workers are leased.
                     */
                    worldSize: number;
                    /**
                     * Format: int32
                     * @description The newest attempt; 0 before the first.
                     */
                    attempt: number;
                    /** Format: int32 */
                    restartsUsed: number;
                    createdBy?: components["schemas"]["Principal"] | null;
                    /** Format: int32 */
                    priority: number;
                    labels: {
                        [key: string]: string;
                    };
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** Format: int64 */
                    updatedAt: number;
                    /** Format: int64 */
                    startedAt?: number | null;
                    /** Format: int64 */
                    endedAt?: number | null;
                    allowedActions: components["schemas"]["AllowedAction"][];
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Token: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example token-3 */
                    id: string;
                    name: string;
                    /** @description Whose it is; `token` for who holds the server's own token. */
                    user: string;
                    /** @example member */
                    role: string;
                    /** @example api */
                    scope: string;
                    /** @description A browser's. */
                    isSession: boolean;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** Format: int64 */
                    expiresAt?: number | null;
                    /**
                     * Format: int32
                     * @description How many machines may still come with it; none: as many as there are.
                     */
                    usesLeft?: number | null;
                    /** @description The zone of machines that come with it. */
                    zone?: string | null;
                    /** @description Labels of machines that come with it. */
                    labels?: {
                        [key: string]: string;
                    };
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_User: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example ann */
                    name: string;
                    /** @example member */
                    role: string;
                    /**
                     * Format: int64
                     * @description Unix milliseconds.
                     */
                    createdAt: number;
                    /** @description Whether the user comes with a company account (OpenID Connect). */
                    hasCompanyAccount?: boolean;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_Webhook: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example webhook-1 */
                    id: string;
                    name: string;
                    /**
                     * @description Scheme and host: what follows is often a key.
                     * @example https://open.feishu.cn/…
                     */
                    url: string;
                    format: components["schemas"]["WebhookFormat"];
                    topics: components["schemas"]["WebhookTopic"][];
                    owner?: string | null;
                    isSigned: boolean;
                    /** @example zh-CN */
                    language: string;
                    /** Format: int64 */
                    createdAt: number;
                    /**
                     * Format: int64
                     * @description How many deliveries were taken, and when the last one was.
                     */
                    delivered: number;
                    /** Format: int64 */
                    deliveredAt?: number | null;
                    /**
                     * Format: int64
                     * @description How many the receiver has refused for good.
                     */
                    leftOut: number;
                    /**
                     * Format: int64
                     * @description Since when nothing gets through, and why.
                     */
                    failingSince?: number | null;
                    problem?: components["schemas"]["Text"] | null;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Page_WorkerRow: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A page of a list. */
            data: {
                items: {
                    /** @example gn6-0 */
                    id: string;
                    /**
                     * @description The name of its environment.
                     * @example gn6
                     */
                    environment: string;
                    environmentId: string;
                    /** Format: int32 */
                    index: number;
                    /**
                     * Format: int32
                     * @description The number of its GPU on that machine; null on CPU.
                     */
                    gpu?: number | null;
                    /** @example A100 */
                    gpuType?: string | null;
                    zone?: string | null;
                    /** @description `unassigned` where it is in no group. */
                    groupId: string;
                    groupName: string;
                    status: components["schemas"]["WorkerStatus"];
                    statusText: components["schemas"]["Text"];
                    /** @description Who holds it. */
                    taskId?: string | null;
                }[];
                /** @description Give it as `pageToken` to get the next page; null on the last one. */
                nextPageToken?: string | null;
                /**
                 * Format: int64
                 * @description How many there are on all pages, where that is known without counting.
                 */
                total?: number | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_PlanReport: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description What the planner says of a model on these machines. */
            data: {
                /** Format: int64 */
                parameters: number;
                /** Format: int64 */
                nodes: number;
                /** Format: int64 */
                gpus: number;
                /**
                 * Format: double
                 * @description What one GPU has.
                 */
                gpuMemoryGib: number;
                /**
                 * Format: double
                 * @description Of one node; the one that usually comes with such GPUs.
                 */
                networkGbps: number;
                /** Format: int64 */
                seqLength: number;
                /** Format: int64 */
                globalBatch: number;
                /**
                 * Format: int64
                 * @description How many layouts were looked at.
                 */
                layoutCount: number;
                choice?: components["schemas"]["PlanChoice"] | null;
                /** @description The best of all: those that fit first, the fastest first; of the rest the nearest to fitting. */
                layouts: components["schemas"]["PlannedLayout"][];
                /** @description The best of each strategy, in the same order. */
                strategies: components["schemas"]["PlannedLayout"][];
                /** @description What would make the model fit of which no layout does, the mildest first. */
                remedies: components["schemas"]["PlanRemedy"][];
                /** @description How fast it would be on the first of the environments, the first two, and so on, with the same batch on each GPU. */
                scaling: components["schemas"]["PlanPoint"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Preflight: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A preflight, as far as it has come. Kept in memory: the last 64, until the server ends. */
            data: {
                /** @example preflight-1765432100000 */
                id: string;
                createdBy: components["schemas"]["Principal"];
                /** @description The task before whose ranks it happened. */
                taskId?: string | null;
                path?: string | null;
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                startedAt: number;
                /**
                 * Format: int64
                 * @description Null while it goes on.
                 */
                endedAt?: number | null;
                /** Format: double */
                seconds: number;
                /** @description Whether there was no error; null while it goes on, and where the task that waited for it was stopped. */
                ok?: boolean | null;
                progress: components["schemas"]["PreflightProgress"];
                nodes: components["schemas"]["PreflightNode"][];
                counts: components["schemas"]["FindingCounts"];
                /** @description `nodes` in it are places of the list above. Empty while it goes on. */
                findings: components["schemas"]["Finding"][];
                differences: components["schemas"]["VersionDifference"][];
                /**
                 * @description The shortest round trips in microseconds, from row to column; null where two do not reach each other, and where there
                 *     was no time to try: those are `untried`.
                 */
                roundTripsUs: (number | null)[][];
                /**
                 * @description Row and column of the round trips that were not tried.
                 * @example [
                 *       [
                 *         0,
                 *         3
                 *       ]
                 *     ]
                 */
                untried?: number[][];
                /** @description Bytes per second between two; null where nothing was measured. */
                bytesPerSecond: (number | null)[][];
                /** @description By the place of the node, its interface at which all others get through; null where there is none. */
                interfaces?: (string | null)[];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Preview: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /training-tasks/preview`. */
            data: {
                aggregate?: components["schemas"]["Aggregate"] | null;
                warnings: components["schemas"]["Warning"][];
                rankMap: components["schemas"]["RankSlot"][];
                launch?: components["schemas"]["Launch"] | null;
                /** @description The lines of the summary card, from top to bottom. */
                card: components["schemas"]["CardLine"][];
                plan?: components["schemas"]["Plan"] | null;
                placement?: components["schemas"]["Text"] | null;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_RankStart: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The start of one rank in one attempt, as its node wrote it down. Secrets are masked. */
            data: {
                /** Format: int32 */
                attempt: number;
                /** Format: int32 */
                rank: number;
                /** Format: int32 */
                localRank: number;
                /** @description The node's name, such as `gn6`. */
                node: string;
                /** @description The system account that it ran as, where it was not the agent's own. */
                account?: string | null;
                /** Format: int32 */
                pid: number;
                /** Format: int64 */
                startedAt: number;
                /** @description The release that started it. */
                fermi: string;
                argv: string[];
                /** @description Where it began; none for the folder of its agent. */
                directory?: string | null;
                /** @description The variables that it was given. What it inherited from its agent's environment is not among them. */
                env: {
                    [key: string]: string;
                };
                /** @description The CPUs that it was bound to; empty where it was bound to none. */
                cpus: number[];
                /** @description Whether it went on from an interpreter that stood ready (`warm`). */
                isReleased: boolean;
                /** @description Something was too long to be kept, and is not here as it was. */
                isCut: boolean;
                /** @description The attempts of which starts are kept. */
                attempts: number[];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Readiness: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The data of `GET /readyz`. */
            data: {
                ready: boolean;
                degraded?: components["schemas"]["Text"] | null;
                /** @description The loops that run beside the requests. */
                loops?: components["schemas"]["BackgroundLoop"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Secret: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A secret, but for its value. */
            data: {
                /** @example HF_TOKEN */
                name: string;
                /**
                 * @description Whose it is; none of what is shared.
                 * @example ann
                 */
                owner?: string | null;
                shared: boolean;
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                updatedAt: number;
                /** @description What the one who asks may do with it. */
                allowedActions?: components["schemas"]["AllowedAction"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_ServerStatus: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `GET /server/status`. */
            data: {
                /** @example 0.1.0 */
                version: string;
                cluster: string;
                /**
                 * @description The SHA-256 of the server's own authority, by which machines that join know it. Not there where the server is not
                 *     encrypted, where others vouch for its certificate, and for who asks through a proxy, which shows another one.
                 * @example sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                 */
                fingerprint?: string | null;
                dataDir: string;
                disk: components["schemas"]["DiskStatus"];
                kept: components["schemas"]["KeptKind"][];
                /**
                 * Format: int64
                 * @description Bytes of logs that were taken and not kept since the server started.
                 */
                logBytesDropped: number;
                /**
                 * Format: int64
                 * @description Unix milliseconds: the time by which ages are judged. It follows the server's clock, but not in leaps.
                 */
                believedTime?: number | null;
                loops: components["schemas"]["BackgroundLoop"][];
                /**
                 * Format: int64
                 * @description How often an older state of the database was put back.
                 */
                epoch?: number;
                /**
                 * Format: int64
                 * @description Runs that this database has never launched; see `GET /server/strays`.
                 */
                strays?: number;
                /** @description What in the database cannot be read by this release and is left alone. */
                unreadable?: components["schemas"]["Text"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Session: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description Who is logged in. */
            data: {
                /**
                 * @description `token` for who holds the server's own token, `local` where none is asked for.
                 * @example ann
                 */
                user: string;
                /** @example member */
                role: string;
                /** @description Whether this server asks for no token. */
                isOpen: boolean;
                /**
                 * Format: int64
                 * @description Unix milliseconds; none where it does not end.
                 */
                expiresAt?: number | null;
                /** @description Shown this once, where the log-in asked for it. */
                token?: string | null;
                /**
                 * @description What this session may not do at all, so that nobody is offered it. What has an owner says for itself, in
                 *     `allowedActions`.
                 */
                denied?: components["schemas"]["DeniedDeed"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Snapshot: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /snapshots`. */
            data: {
                /** @example sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 */
                digest: string;
                /**
                 * Format: int64
                 * @description In bytes, packed.
                 */
                size: number;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Stacks: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /training-tasks/{id}/stacks`. */
            data: {
                /** Format: int32 */
                attempt: number;
                /** @description Those at the same place together, the most ranks first. */
                groups: components["schemas"]["StackGroup"][];
                /** @description Ranks that gave no stack: without the hook, stopped, or not at Python's hand. */
                silent: number[];
                /** @description Nodes that have not answered in time. */
                silentNodes: string[];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_StartGroupAnswer: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The answer to `POST /groups/{id}/start`. */
            data: components["schemas"]["CreateAnswer"] & {
                /** @description What was looked at before the start. */
                checks: components["schemas"]["Check"][];
                ranks: components["schemas"]["GroupRanks"];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Task: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A task with everything about it. */
            data: components["schemas"]["TaskRow"] & components["schemas"]["TaskCourse"] & {
                distributedInfo?: components["schemas"]["DistributedInfo"] | null;
                spec: components["schemas"]["TaskSpec"];
                /** Format: int64 */
                generation: number;
                /** Format: int32 */
                maxRestarts: number;
                /**
                 * Format: int64
                 * @description Unix milliseconds; not before this time, when a restart waits.
                 */
                restartAt?: number | null;
                /** @description Somebody asked for its end. */
                stopRequested: boolean;
                progress?: components["schemas"]["Progress"] | null;
                /** @description Oldest first. */
                attempts: components["schemas"]["Attempt"][];
                /** @description In the order of node ranks; the first one coordinates. */
                nodes: components["schemas"]["TaskNode"][];
                /** @description Who is which rank, since workers were leased. */
                rankMap: components["schemas"]["RankSlot"][];
                /** Format: int32 */
                masterPort?: number | null;
                verdict?: components["schemas"]["Verdict"] | null;
                warnings: components["schemas"]["Warning"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_TaskRow: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A task in a list. */
            data: {
                id: string;
                name: string;
                status: components["schemas"]["TaskPhase"];
                statusText: components["schemas"]["Text"];
                reason?: components["schemas"]["Text"] | null;
                headline?: components["schemas"]["Text"] | null;
                framework?: components["schemas"]["Framework"] | null;
                /** @description Those that it asked for. */
                environments: string[];
                /** Format: int32 */
                nodeCount: number;
                /**
                 * Format: int32
                 * @description 0 until workers are leased.
                 */
                worldSize: number;
                /**
                 * Format: int32
                 * @description The newest attempt; 0 before the first.
                 */
                attempt: number;
                /** Format: int32 */
                restartsUsed: number;
                createdBy?: components["schemas"]["Principal"] | null;
                /** Format: int32 */
                priority: number;
                labels: {
                    [key: string]: string;
                };
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                createdAt: number;
                /** Format: int64 */
                updatedAt: number;
                /** Format: int64 */
                startedAt?: number | null;
                /** Format: int64 */
                endedAt?: number | null;
                allowedActions: components["schemas"]["AllowedAction"][];
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_User: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description A person who may log in. */
            data: {
                /** @example ann */
                name: string;
                /** @example member */
                role: string;
                /**
                 * Format: int64
                 * @description Unix milliseconds.
                 */
                createdAt: number;
                /** @description Whether the user comes with a company account (OpenID Connect). */
                hasCompanyAccount?: boolean;
            };
        };
        /** @description An answer. `code` equals the HTTP status. */
        Envelope_Version: {
            /** Format: int32 */
            code: number;
            /** @description A sentence in the caller's language. */
            message: string;
            /** @description The data of `GET /version`. */
            data: {
                /**
                 * @description The release of Fermi.
                 * @example 0.1.0
                 */
                version: string;
                /** @description Versions of the public API that it speaks. */
                api: string[];
                /**
                 * Format: int32
                 * @description The version of the words between agents and server.
                 */
                link: number;
                /**
                 * @description Where a browser begins to log in with a company account (OpenID Connect), where the server was set up for it.
                 * @example https://fermi.example.com/oidc/log-in
                 */
                companyLogIn?: string | null;
            };
        };
        /** @description A place where ranks can run. */
        Environment: {
            /** @example env-001 */
            id: string;
            name: string;
            kind: components["schemas"]["EnvironmentKind"];
            kindText: components["schemas"]["Text"];
            status: components["schemas"]["EnvironmentStatus"];
            statusText: components["schemas"]["Text"];
            zone?: string | null;
            image?: string | null;
            labels: {
                [key: string]: string;
            };
            /** @description Where other nodes reach it. */
            address?: string | null;
            /** @description The memory of a GPU is in bytes. */
            gpus: components["schemas"]["Gpus"][];
            /** Format: int32 */
            gpuCount: number;
            /** @description The model of its GPUs, such as `A100`; several are joined by commas; null without GPUs. */
            gpuType?: string | null;
            /** Format: int32 */
            cpuCores: number;
            /**
             * Format: int64
             * @description In whole GiB.
             */
            memory: number;
            /** @description Its resources were written down by somebody, not measured. */
            declared: boolean;
            versions: components["schemas"]["Versions"];
            workers: components["schemas"]["Worker"][];
            /** Format: int32 */
            workersFree: number;
            /**
             * Format: int64
             * @description Since its agent was last heard; null when it never was since the server started.
             */
            heartbeatAgeMs?: number | null;
            /**
             * Format: int64
             * @description Unix milliseconds: since when its machine, or its agent, is up.
             */
            upSince?: number | null;
            machine?: components["schemas"]["MachineNow"] | null;
            gpuSamples: components["schemas"]["GpuNow"][];
        };
        /** @description Environments by status. */
        EnvironmentCounts: {
            /** Format: int32 */
            running: number;
            /** Format: int32 */
            busy: number;
            /** Format: int32 */
            suspect: number;
            /** Format: int32 */
            offline: number;
            /** Format: int32 */
            drained?: number;
            /** Format: int32 */
            lost?: number;
            /** Format: int32 */
            total: number;
        };
        /** @description Names an environment in requests, such as `env-001`; its readable name is separate and may change. */
        EnvironmentId: string;
        /**
         * @description What a person opens the environment with.
         * @enum {string}
         */
        EnvironmentKind: "jupyter" | "vscode" | "ssh" | "custom";
        /** @description The answer to `GET /environments/{id}/metrics`: what the server remembers, oldest first. */
        EnvironmentMetrics: {
            points: components["schemas"]["MachinePoint"][];
        };
        /**
         * @description Whether an environment can be used now.
         * @enum {string}
         */
        EnvironmentStatus: "running" | "busy" | "suspect" | "offline" | "drained" | "lost";
        /** @description What is wrong, for programs; and what to do, for people. */
        ErrorBody: {
            /**
             * @description Stable; see the reference.
             * @example dataset_required
             */
            id: string;
            /**
             * @description The field of the request that is to be corrected.
             * @example datasetId
             */
            field?: string | null;
            /** @description What to do about it, in the caller's language. */
            hint?: string | null;
        };
        /** @description An entry of the event log. */
        Event: {
            /** @description Opaque; give it as `after`, or as `Last-Event-ID`, to read on behind it. */
            cursor: string;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            time: number;
            /** @description Such as `task.running`, `environment.offline`. */
            kind: string;
            /** @description The task or environment that it is about; empty where it is about neither. */
            subject: string;
            taskId?: string | null;
            environmentId?: string | null;
            /** Format: int32 */
            attempt?: number | null;
            /** Format: int32 */
            rank?: number | null;
            text: components["schemas"]["Text"];
            detail?: components["schemas"]["EventDetail"] | null;
            principal?: components["schemas"]["Principal"] | null;
        };
        /** @description What an event says to programs, beyond its sentence. */
        EventDetail: {
            /** @default null */
            phase?: components["schemas"]["PhaseChange"] | null;
            /** @default null */
            hang?: components["schemas"]["HangNote"] | null;
            /** @default null */
            end?: components["schemas"]["TaskEnd"] | null;
        };
        /** @description The end of a process as the kernel told it, or the reason why it never began. */
        Exit: {
            /** Format: int32 */
            code: number;
            /** @enum {string} */
            kind: "code";
        } | {
            /** Format: int32 */
            signal: number;
            core_dumped: boolean;
            /** @enum {string} */
            kind: "signal";
        } | {
            error: string;
            /** @enum {string} */
            kind: "notStarted";
        };
        /** @description The answer to `GET /training-tasks/{id}/explain`. */
        Explanation: components["schemas"]["TaskCourse"] & {
            taskId: string;
            name: string;
            status: components["schemas"]["TaskPhase"];
            statusText: components["schemas"]["Text"];
            /** @description One sentence that says why. */
            summary: components["schemas"]["Text"];
            advice?: components["schemas"]["Text"] | null;
            waitingFor: components["schemas"]["WaitingFor"][];
            queue?: components["schemas"]["QueuePlace"] | null;
            nodes: components["schemas"]["NodeWish"][];
            verdict?: components["schemas"]["Verdict"] | null;
            attempts: components["schemas"]["Attempt"][];
            /** Format: int32 */
            restartsUsed: number;
            /** Format: int32 */
            maxRestarts: number;
            /** @description The last events, oldest first. */
            events: components["schemas"]["Event"][];
        };
        /** @description A rank with its end. */
        FailedRank: {
            /** Format: int32 */
            rank: number;
            node: string;
            exit: components["schemas"]["Exit"];
            /** @description The exit in words, such as `SIGKILL`. */
            exitText: string;
        };
        /** @description An answer that says no. */
        Failure: {
            /** Format: int32 */
            code: number;
            /**
             * @description What is wrong, in the caller's language.
             * @example 请选择数据集
             */
            message: string;
            /** @description Always null. */
            data?: Record<string, never> | null;
            error: components["schemas"]["ErrorBody"];
        };
        /**
         * @description Whose matter a failure is.
         * @enum {string}
         */
        FailureClass: "user" | "platform" | "infrastructure";
        /** @description One thing that was checked. */
        Finding: {
            /**
             * @description A stable name, such as `gpu.ecc`.
             * @example wire.port
             */
            check: string;
            topic: components["schemas"]["FindingTopic"];
            state: components["schemas"]["FindingState"];
            /** @description The conclusion. */
            text: components["schemas"]["Text"];
            evidence?: components["schemas"]["Text"] | null;
            fix?: components["schemas"]["Fix"] | null;
            /** @description The nodes that it concerns, where several were looked at. */
            nodes?: number[];
        };
        /** @description How many findings there are of each state. */
        FindingCounts: {
            ok: number;
            skipped: number;
            warnings: number;
            errors: number;
        };
        /**
         * @description How good it is.
         * @enum {string}
         */
        FindingState: "ok" | "skipped" | "warning" | "error";
        /**
         * @description Under which heading it stands.
         * @enum {string}
         */
        FindingTopic: "nodes" | "wire" | "versions" | "gpu" | "cpu" | "limits" | "disk" | "clock" | "network" | "launch" | "python";
        /** @description What to do about it. */
        Fix: {
            text: components["schemas"]["Text"];
            /** @description To be copied into a shell. */
            command?: string | null;
        };
        /** @description A line of somebody's code. */
        Frame: {
            file: string;
            /** Format: int32 */
            line: number;
            function: string;
        };
        /**
         * @description What trains. The distributed engine is the user's own; Fermi configures and starts it.
         * @enum {string}
         */
        Framework: "pytorch-ddp" | "pytorch-fsdp" | "deepspeed" | "horovod" | "megatron-lm" | "jax" | "command" | "builtin";
        /** @description What the form shows of a framework. */
        FrameworkCard: {
            value: components["schemas"]["Framework"];
            /** @example PyTorch DDP */
            label: string;
            /** @description 类型 */
            kind: components["schemas"]["Text"];
            /** @description 厂商 */
            vendor: components["schemas"]["Text"];
            /** @description 适用 */
            suits: components["schemas"]["Text"];
            /** @description 特点 */
            features: components["schemas"]["Text"][];
            /** @description Its strategies of data-parallel training, to be compared with those of others. */
            strategies?: components["schemas"]["StrategyCard"][];
            /** @description The keys of `options.framework` that it knows. */
            settings?: components["schemas"]["FrameworkSetting"][];
        };
        /** @description One setting of a framework. */
        FrameworkSetting: {
            /** @example zeroStage */
            name: string;
            about: components["schemas"]["Text"];
        };
        /** @description The last sample of a GPU. */
        GpuNow: {
            /** Format: int32 */
            index: number;
            /**
             * Format: float
             * @description 0 to 1.
             */
            useShare: number;
            /**
             * Format: int64
             * @description In bytes.
             */
            memoryUsed: number;
            /** Format: int64 */
            memoryTotal: number;
            /** Format: float */
            temperature?: number | null;
            /** Format: float */
            powerWatts?: number | null;
        };
        /** @description GPUs of one model in an environment. */
        Gpus: {
            /** @description The short name that people use, such as `A100`. */
            model: string;
            /** @description The memory of one. */
            memory: components["schemas"]["Bytes"];
            /** Format: int32 */
            count: number;
        };
        /** @description A group. */
        Group: {
            /**
             * @description `unassigned` of the one in which the workers are that are in no other.
             * @example group-001
             */
            id: string;
            name: string;
            /** @description Whether it is the one of the workers that are in no other: it has no configuration and cannot be changed. */
            isDefault: boolean;
            config: components["schemas"]["GroupConfig"];
            /** @description By node and number. */
            workers: string[];
            /**
             * Format: int32
             * @description How many processes a start would have; null where it cannot start.
             */
            worldSize?: number | null;
            /**
             * Format: int32
             * @description How many workers would stand by.
             */
            standby: number;
            /** @description Tasks on it that are not over. */
            tasks: components["schemas"]["GroupTask"][];
            /** @description What goes wrong with groups, answered as far as it is known without asking nodes. */
            checks: components["schemas"]["Check"][];
            /**
             * Format: int64
             * @description Grows with every change.
             */
            version: number;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** Format: int64 */
            updatedAt: number;
            /** @description What the one who asks may do with it. */
            allowedActions?: components["schemas"]["AllowedAction"][];
        };
        /** @description How a group is launched. */
        GroupConfig: {
            /**
             * @description The name of the master node, such as `gn6`; a group without one cannot start.
             * @default null
             * @example gn6
             */
            masterAddr?: string | null;
            /**
             * Format: int32
             * @description How many processes; all workers of the group when null. The workers beyond it stand by.
             * @default null
             */
            worldSize?: number | null;
            /**
             * Format: int32
             * @description Of the default, the first free one from it on is taken; any other one is taken as it stands.
             * @default 29500
             */
            masterPort?: number;
            /** @default nccl */
            backend?: components["schemas"]["Backend"];
        };
        /** @description What is to be another in a group's configuration: a field that is left out stays, null is the default. */
        GroupConfigChange: {
            /** @default null */
            masterAddr?: string | null;
            /**
             * Format: int32
             * @default null
             */
            worldSize?: number | null;
            /**
             * Format: int32
             * @default null
             */
            masterPort?: number | null;
            /** @default null */
            backend?: components["schemas"]["Backend"] | null;
        };
        /** @description Names a group of workers. */
        GroupId: string;
        /** @description A refusal, in both languages. */
        GroupProblem: {
            id: string;
            field?: string | null;
            text: components["schemas"]["Text"];
            hint?: components["schemas"]["Text"] | null;
        };
        /** @description The row of one worker. */
        GroupRank: {
            /** @example gn6-0 */
            worker: string;
            /** @example gn6 */
            node: string;
            /**
             * Format: int32
             * @description RANK; null where it has none.
             */
            rank?: number | null;
            /**
             * Format: int32
             * @description LOCAL_RANK
             */
            localRank?: number | null;
            /**
             * Format: int32
             * @description NODE_RANK
             */
            nodeRank?: number | null;
            /**
             * Format: int32
             * @description WORLD_SIZE
             */
            worldSize?: number | null;
            /**
             * Format: int32
             * @description The number of its GPU on that machine; null on CPU.
             */
            gpu?: number | null;
            /** @description Beyond the world size. */
            standby: boolean;
            status: components["schemas"]["WorkerStatus"];
            statusText: components["schemas"]["Text"];
        };
        /** @description Who would be which rank, as things stand. */
        GroupRanks: {
            groupId: string;
            groupName: string;
            /** Format: int64 */
            version: number;
            /** @description MASTER_ADDR as it is configured. */
            masterAddr?: string | null;
            /** Format: int32 */
            masterPort: number;
            backend: components["schemas"]["Backend"];
            /**
             * Format: int32
             * @description WORLD_SIZE; null where there are no ranks.
             */
            worldSize?: number | null;
            /** Format: int32 */
            nodeCount: number;
            /** @description In the order of ranks; those that stand by are last. */
            rows: components["schemas"]["GroupRank"][];
            problem?: components["schemas"]["GroupProblem"] | null;
        };
        /** @description A task on a group. */
        GroupTask: {
            id: string;
            name: string;
            status: components["schemas"]["TaskPhase"];
            statusText: components["schemas"]["Text"];
        };
        /**
         * @description The ways in which a run stands still.
         * @enum {string}
         */
        HangKind: "stopped" | "notEntered" | "mismatched" | "silent" | "left" | "diskWait" | "asleep" | "busy";
        /** @description Who hangs, where, since when. */
        HangNote: {
            /** Format: int32 */
            attempt: number;
            /**
             * Format: int64
             * @description Unix milliseconds of the last progress.
             */
            sinceMs: number;
            kind: components["schemas"]["HangKind"];
            /** @description Those that it is about. */
            ranks: number[];
            /** @description The nodes of these ranks. */
            nodes: string[];
            place?: components["schemas"]["Frame"] | null;
            /** @description What ranks do, those that do the same together, the most ranks first. */
            stacks: components["schemas"]["StackGroup"][];
            text: components["schemas"]["Text"];
            hint: components["schemas"]["Text"];
        };
        /** @description The id of what was made. */
        Id: {
            id: string;
        };
        /** @description How much there is of a kind, and how long it is kept. */
        KeptKind: {
            /** @description `logs`, `snapshots`, `leftovers`, `events`, `answers`, `samples` or `database`; on machines `sources` or `outputs`. */
            kind: string;
            name: components["schemas"]["Text"];
            /** Format: int64 */
            count: number;
            /** Format: int64 */
            bytes?: number | null;
            /** @description What is kept, and why. */
            rule: components["schemas"]["Text"];
            /**
             * Format: int64
             * @description Since the server started.
             */
            removed: number;
            /** Format: int64 */
            removedBytes: number;
        };
        /** @description How a loop's last run went. */
        LastRun: {
            /**
             * Format: int64
             * @description Unix milliseconds at its end.
             */
            endedAt: number;
            /** @description `start`, `bell`, `period` or `retry`. */
            wakeUp: string;
            /** Format: int64 */
            tookMicros: number;
            /** @description `done`, `failed` or `panicked`. */
            outcome: string;
            /** @description Why, where it did not go well. */
            reason?: string | null;
        };
        /** @description A launch as people read it. What only a node knows stands in angle brackets, such as `<masterPort>`. */
        Launch: {
            /** @description The same for every rank. */
            argv: string[];
            directory?: string | null;
            /** @description Written on every node before anything starts. */
            files: components["schemas"]["LaunchFile"][];
            /** @description Of every rank. */
            env: {
                [key: string]: string;
            };
            /** @description In the order of node ranks. */
            nodes: components["schemas"]["LaunchNode"][];
            /** @description What was decided on the way and why. */
            notes: components["schemas"]["Text"][];
        };
        /** @description A file that the engine or a person reads. */
        LaunchFile: {
            path: string;
            text: string;
        };
        /** @description One node's part. */
        LaunchNode: {
            environment: string;
            name: string;
            /** Format: int32 */
            nodeRank: number;
            ranks: components["schemas"]["LaunchRank"][];
        };
        /** @description How the engine is configured; what is not given is chosen. */
        LaunchOptions: {
            /**
             * @description nccl or gloo; without GPUs nccl becomes gloo.
             * @default null
             */
            backend?: string | null;
            /**
             * Format: int32
             * @description The port of rank 0; a taken one is refused, never moved.
             * @default null
             */
            masterPort?: number | null;
            /**
             * @description The name or address by which every node reaches the first one, and which ranks see as MASTER_ADDR; the address of
             *     its agent when not given.
             * @default null
             */
            masterAddress?: string | null;
            /**
             * @description The network interface for NCCL and gloo.
             * @default null
             */
            interface?: string | null;
            /**
             * Format: int64
             * @description How long collectives wait, in seconds.
             * @default null
             */
            timeout?: number | null;
            /**
             * @description NCCL_DEBUG.
             * @default null
             */
            ncclDebug?: string | null;
            /**
             * @description Whether InfiniBand may be used.
             * @default null
             */
            infiniband?: boolean | null;
            /**
             * @description Whether GPUs of a node may talk to each other directly.
             * @default null
             */
            p2p?: boolean | null;
            /**
             * @description TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL.
             * @default null
             */
            torchDebug?: string | null;
            /**
             * @description Whether each CUDA call waits for its end, to find the one that fails.
             * @default null
             */
            cudaLaunchBlocking?: boolean | null;
            /**
             * @description Where checkpoints live, an absolute path on every node; best one that all nodes share. Else a folder of the task on
             *     each node.
             * @default null
             */
            checkpointDir?: string | null;
            /**
             * @description Whether Python ranks are watched over from inside: steps, phases, collectives, stacks. They are where nothing is said.
             * @default null
             */
            hook?: boolean | null;
            /** @description Settings of the framework itself, such as ZeRO stage and batch sizes; each framework knows its keys. */
            framework?: Record<string, never>;
            /** @description A training.yaml as JSON: settings come from it that `framework` does not give. */
            training?: Record<string, never> | null;
        };
        /** @description One rank's part. */
        LaunchRank: {
            /** Format: int32 */
            rank: number;
            worker: string;
            /** Format: int32 */
            gpu?: number | null;
            /** @description Of this rank alone. */
            env: {
                [key: string]: string;
            };
        };
        /** @description Every millisecond from the task's creation on has one cause; the time between its end and another start counts for none. */
        Ledger: {
            /** Format: int64 */
            wallMs: number;
            /**
             * Format: double
             * @description From 0 to 1.
             */
            productiveShare: number;
            /** @description The productive time first, then the largest; they add up to the whole. */
            causes: components["schemas"]["LedgerCause"][];
            /** @description The productive share, and what took the rest. */
            text: components["schemas"]["Text"];
        };
        /** @description What time was spent on. */
        LedgerCause: {
            cause: components["schemas"]["Cause"];
            text: components["schemas"]["Text"];
            /** Format: int64 */
            ms: number;
            /**
             * Format: double
             * @description From 0 to 1.
             */
            share: number;
        };
        /** @description The body of `POST /users/{name}/link`. */
        LinkUser: {
            /**
             * @description As the company's log-in service names the account: `sub` of its ID tokens.
             * @example 248289761001
             */
            subject: string;
        };
        /**
         * Format: int32
         * @description Who a process is among the processes of its node, from 0.
         */
        LocalRank: number;
        /**
         * @description What kind of place a text names.
         * @enum {string}
         */
        LocationKind: "path" | "uri" | "name";
        /** @description A piece of one stream. */
        LogChunk: {
            /** Format: int32 */
            attempt: number;
            /** Format: int32 */
            rank: number;
            stream: components["schemas"]["Stream"];
            /**
             * Format: int64
             * @description The first byte's place in the stream.
             */
            offset: number;
            /**
             * Format: int64
             * @description The place after the last byte; read on from here.
             */
            nextOffset: number;
            /**
             * Format: int64
             * @description How long the stream is now.
             */
            length: number;
            /** @description Bytes that are no UTF-8 appear as U+FFFD; `Accept: text/plain` gives them unchanged. */
            text: string;
            /** @description Ranges that were taken and not kept, for want of budget or disk. In the text a line stands for each. */
            gaps?: components["schemas"]["LogGap"][];
        };
        /** @description A range of a stream that the server has not kept. */
        LogGap: {
            /** Format: int64 */
            offset: number;
            /** Format: int64 */
            length: number;
        };
        /** @description The body of `POST /session`: a user with a password, or a token. */
        LogIn: {
            /**
             * @default null
             * @example ann
             */
            user?: string | null;
            /** @default null */
            password?: string | null;
            /**
             * @description Instead of both.
             * @default null
             */
            token?: string | null;
            /**
             * @description For a program: the answer holds a token of this name, and no cookie is set.
             * @default null
             */
            tokenName?: string | null;
        };
        /** @description A line that matches. */
        LogMatch: {
            /** Format: int32 */
            rank: number;
            stream: components["schemas"]["Stream"];
            /**
             * Format: int64
             * @description Where the line begins.
             */
            offset: number;
            /** @description The line; a very long one is cut. */
            text: string;
        };
        /** @description The answer to `GET /training-tasks/{id}/logs/search`. */
        LogSearch: {
            /** Format: int32 */
            attempt: number;
            items: components["schemas"]["LogMatch"][];
            nextPageToken?: string | null;
        };
        /** @description The session here has ended. */
        LoggedOut: {
            /**
             * @description Where a browser ends the session at the company's service too; absent where there is none.
             * @example https://id.example.com/logout?client_id=fermi
             */
            continueAt?: string | null;
        };
        /** @description The answer to `GET /training-tasks/{id}/logs`. */
        Logs: {
            /**
             * Format: int32
             * @description The attempt that was read; 0 when there has been none.
             */
            attempt: number;
            /** @description By rank, stdout before stderr. */
            chunks: components["schemas"]["LogChunk"][];
        };
        /** @description The last sample of a machine. */
        MachineNow: {
            /**
             * Format: float
             * @description Share of all CPUs, 0 to 1.
             */
            cpu: number;
            /**
             * Format: int64
             * @description In bytes.
             */
            memoryUsed: number;
            /** Format: int64 */
            memoryTotal: number;
            /**
             * Format: int64
             * @description Bytes in the last second, loopback left out.
             */
            received: number;
            /** Format: int64 */
            sent: number;
        };
        /** @description One second of a machine. */
        MachinePoint: {
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            time: number;
            machine: components["schemas"]["MachineNow"];
            gpus: components["schemas"]["GpuNow"][];
        };
        /** @description The answer to `POST /tokens`. */
        MadeToken: components["schemas"]["Token"] & {
            /** @description What is to be shown; shown here and never again. */
            token: string;
        };
        /** @description The answer to `GET /training-tasks/{id}/metrics`. */
        Metrics: {
            /** Format: int32 */
            attempt: number;
            series: components["schemas"]["Series"][];
        };
        /** @description A neural network by its name. */
        Model: {
            /** @example model-001 */
            id: string;
            name: string;
            path?: string | null;
            location?: components["schemas"]["LocationKind"] | null;
            description?: string | null;
            architecture?: components["schemas"]["ModelArchitecture"] | null;
            planning?: components["schemas"]["Text"] | null;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** @description What the one who asks may do with it. */
            allowedActions?: components["schemas"]["AllowedAction"][];
        };
        /** @description The numbers by which a plan is made. */
        ModelArchitecture: components["schemas"]["ModelShape"] & {
            /**
             * Format: int64
             * @description All parameters, as the shape says or as was published.
             */
            totalParameters: number;
            source: components["schemas"]["ShapeSource"];
            /** @description The entry of the catalogue, where the numbers are that one's. */
            catalogueName?: string | null;
        };
        /** @description A mixture of experts in place of each feed-forward block. */
        ModelExperts: {
            /** Format: int64 */
            count: number;
            /** Format: int64 */
            active: number;
            /** Format: int64 */
            shared?: number;
            /** Format: int64 */
            ffn: number;
        };
        /** @description The numbers as they are given: what is left out is usual for the rest. */
        ModelNumbers: {
            /**
             * Format: int64
             * @default null
             */
            layers?: number | null;
            /**
             * Format: int64
             * @description Width of the hidden state.
             * @default null
             */
            hidden?: number | null;
            /**
             * Format: int64
             * @description Attention heads.
             * @default null
             */
            heads?: number | null;
            /**
             * Format: int64
             * @description As many as heads where nothing is said.
             * @default null
             */
            kvHeads?: number | null;
            /**
             * Format: int64
             * @description Four times the width where nothing is said.
             * @default null
             */
            ffn?: number | null;
            /**
             * Format: int64
             * @description 50,304 where nothing is said.
             * @default null
             */
            vocab?: number | null;
            /**
             * Format: int64
             * @default null
             */
            headDim?: number | null;
            /** @default null */
            family?: string | null;
            /** @default null */
            tied?: boolean | null;
            /**
             * Format: int64
             * @default null
             */
            maxPositions?: number | null;
            /** @default null */
            experts?: components["schemas"]["ModelExperts"] | null;
            /**
             * Format: int64
             * @default null
             */
            parameters?: number | null;
        };
        /** @description The shape of a transformer, complete. */
        ModelShape: {
            /** Format: int64 */
            layers: number;
            /**
             * Format: int64
             * @description Width of the hidden state.
             */
            hidden: number;
            /**
             * Format: int64
             * @description Attention heads.
             */
            heads: number;
            /** Format: int64 */
            kvHeads: number;
            /**
             * Format: int64
             * @description Width of the feed-forward layer.
             */
            ffn: number;
            /** Format: int64 */
            vocab: number;
            /**
             * Format: int64
             * @description Width of a head, where it is not `hidden / heads`.
             */
            headDim?: number | null;
            /** @description The family, such as `llama` or `gpt2`, which says what a block is like: `model_type` of a config.json. */
            family?: string | null;
            /** @description Whether input and output share their table of tokens; as in the family where nothing is said. */
            tied?: boolean | null;
            /** Format: int64 */
            maxPositions?: number | null;
            experts?: components["schemas"]["ModelExperts"] | null;
            /**
             * Format: int64
             * @description The published count, where it is not what the shape says.
             */
            parameters?: number | null;
        };
        /** @description The answer to `POST /groups/{id}/workers`. */
        MoveAnswer: {
            /**
             * Format: int32
             * @description How many are in another group than before.
             */
            moved: number;
            /** @description The group with its workers as they are now. */
            group: components["schemas"]["Group"];
        };
        /** @description The body of `POST /groups/{id}/workers`. */
        MoveWorkers: {
            /**
             * @description All of them move, or none.
             * @default []
             * @example [
             *       "gn6-0",
             *       "gn7-0"
             *     ]
             */
            workers?: string[];
            /**
             * Format: int64
             * @description The version of the group that was seen; refused where it is another one now.
             * @default null
             */
            version?: number | null;
        };
        /**
         * Format: int32
         * @description Which node of an attempt this is; the master is 0.
         */
        NodeRank: number;
        /**
         * @description Where a node's run stands.
         * @enum {string}
         */
        NodeRunState: "waiting" | "wanted" | "alive" | "gone";
        /** @description What a node is asked to do. */
        NodeWish: {
            environment: string;
            name: string;
            /** Format: int32 */
            nodeRank: number;
            state: components["schemas"]["NodeRunState"];
            /** @description `rest`, `launch`, `stop` or `kill`. */
            wish: string;
            text: components["schemas"]["Text"];
            /** @description Over which its ranks talk, where a preflight has found that. */
            interface?: string | null;
        };
        /** @description What happens to a training that has lost the server. */
        OnDisconnect: "keep" | {
            /** @description Stop the ranks after this long, so that another attempt may begin. The warden of each node keeps the time. */
            stopAfter: components["schemas"]["Seconds"];
        };
        /**
         * @description What is done about ranks that hang.
         * @enum {string}
         */
        OnHang: "tell" | "restart";
        /** @description A rank that failed after the first one. */
        OtherFailure: {
            /** Format: int32 */
            rank: number;
            node: string;
            exitText: string;
            /**
             * Format: int64
             * @description How long after the first it ended.
             */
            afterMs: number;
            role?: components["schemas"]["Role"] | null;
        };
        /** @description The answer to `GET /overview`. */
        Overview: {
            /** @description By status, such as `running`; every status is there. */
            tasks: {
                [key: string]: number;
            };
            environments: components["schemas"]["EnvironmentCounts"];
            workers: components["schemas"]["WorkerCounts"];
            gpus: components["schemas"]["WorkerCounts"];
            /** @description The newest tasks that are not over. */
            activeTasks: components["schemas"]["TaskRow"][];
            /** @description The last events, newest first. */
            events: components["schemas"]["Event"][];
        };
        /**
         * @description What a rank is doing.
         * @enum {string}
         */
        Phase: "parked" | "import" | "init" | "load" | "firstStep" | "step" | "save";
        /** @description From one phase to the next. */
        PhaseChange: {
            from: components["schemas"]["TaskPhase"];
            to: components["schemas"]["TaskPhase"];
        };
        /** @description Whether a model fits, how fast it trains, and what would be better. */
        Plan: {
            id: components["schemas"]["PlanId"];
            fits: boolean;
            /**
             * Format: double
             * @description GiB by which a GPU is too small; 0 where it fits.
             */
            missingGib: number;
            /**
             * Format: double
             * @description What one GPU needs.
             */
            memoryGib: number;
            /**
             * Format: double
             * @description What one GPU needs at most in four of five such runs.
             */
            memoryHighGib?: number;
            /**
             * Format: double
             * @description What one GPU has.
             */
            gpuMemoryGib: number;
            /** @example zero2 */
            strategy: string;
            /** @description The strategy as people call it. */
            name: string;
            /** Format: int64 */
            microBatch: number;
            /** Format: int64 */
            globalBatch: number;
            /**
             * Format: double
             * @description Null where it does not fit: what does not run has no speed.
             */
            stepTimeS?: number | null;
            /**
             * Format: double
             * @description Four of five such runs are between these.
             */
            stepTimeLowS?: number | null;
            /** Format: double */
            stepTimeHighS?: number | null;
            /** Format: double */
            tokensPerS?: number | null;
            suggestion?: components["schemas"]["PlanSuggestion"] | null;
            /** @description To be shown; a warning where `fits` is false. */
            sentence: components["schemas"]["Text"];
        };
        /** @description The layout to take, and why. */
        PlanChoice: {
            layout: components["schemas"]["PlannedLayout"];
            /**
             * @description `table`, `memory`, `speed` or `one_gpu`.
             * @example table
             */
            decidedBy: string;
            reason: components["schemas"]["Text"];
        };
        /**
         * @description Which sentence it is, for those who act on it.
         * @enum {string}
         */
        PlanId: "fits" | "fitsTightly" | "doesNotFit";
        /** @description The best speed on so many of the environments. */
        PlanPoint: {
            /** Format: int64 */
            nodes: number;
            /** Format: int64 */
            gpus: number;
            /** @description The strategy as people call it; null where nothing fits, and then there is no speed. */
            name?: string | null;
            /** Format: double */
            tokensPerS?: number | null;
        };
        /** @description One thing that would make a model fit. */
        PlanRemedy: {
            what: components["schemas"]["Text"];
            /** Format: double */
            neededGib: number;
            fits: boolean;
            /** Format: double */
            stepTimeS: number;
        };
        /** @description What the planner says of a model on these machines. */
        PlanReport: {
            /** Format: int64 */
            parameters: number;
            /** Format: int64 */
            nodes: number;
            /** Format: int64 */
            gpus: number;
            /**
             * Format: double
             * @description What one GPU has.
             */
            gpuMemoryGib: number;
            /**
             * Format: double
             * @description Of one node; the one that usually comes with such GPUs.
             */
            networkGbps: number;
            /** Format: int64 */
            seqLength: number;
            /** Format: int64 */
            globalBatch: number;
            /**
             * Format: int64
             * @description How many layouts were looked at.
             */
            layoutCount: number;
            choice?: components["schemas"]["PlanChoice"] | null;
            /** @description The best of all: those that fit first, the fastest first; of the rest the nearest to fitting. */
            layouts: components["schemas"]["PlannedLayout"][];
            /** @description The best of each strategy, in the same order. */
            strategies: components["schemas"]["PlannedLayout"][];
            /** @description What would make the model fit of which no layout does, the mildest first. */
            remedies: components["schemas"]["PlanRemedy"][];
            /** @description How fast it would be on the first of the environments, the first two, and so on, with the same batch on each GPU. */
            scaling: components["schemas"]["PlanPoint"][];
        };
        /** @description The body of `POST /plans`. */
        PlanRequest: {
            /**
             * @default
             * @example model-001
             */
            modelId?: string;
            /**
             * @description Environments whose GPUs train, in the order in which they join in the curve of `scaling`.
             * @default []
             * @example [
             *       "env-001",
             *       "env-002"
             *     ]
             */
            nodeIds?: string[];
            /**
             * Format: int64
             * @description Tokens per sequence; 2,048 when not given.
             * @default null
             */
            seqLength?: number | null;
            /**
             * Format: int64
             * @description Sequences of a step over all GPUs; eight for each GPU when not given.
             * @default null
             */
            globalBatch?: number | null;
            /**
             * @description `bf16` when not given.
             * @default null
             * @example bf16
             */
            precision?: string | null;
            /**
             * @description `adam` when not given.
             * @default null
             * @example adam
             */
            optimizer?: string | null;
            /**
             * Format: int32
             * @description How many layouts are listed; 20 when not given, 200 at most.
             * @default null
             */
            top?: number | null;
        };
        /** @description A strategy to take instead. */
        PlanSuggestion: {
            /** @example zero3 */
            strategy: string;
            /** @description The strategy as people call it. */
            name: string;
            /** Format: int64 */
            microBatch: number;
            /** @description `none`, `attention`, `half` or `full`. */
            recompute: string;
            /** @description `none`, `optimizer_cpu`, `all_cpu` or `all_nvme`. */
            offload: string;
            /** Format: double */
            memoryGib: number;
            /**
             * Format: double
             * @description What a node needs in the memory of its processors, for what is offloaded.
             */
            hostGib?: number;
            /** Format: double */
            stepTimeS: number;
            /** Format: double */
            tokensPerS: number;
            reason: components["schemas"]["Text"];
        };
        /** @description One way to cut the work over the GPUs, with its estimates. */
        PlannedLayout: {
            /** @example zero2 */
            strategy: string;
            /**
             * @description The strategy as people call it.
             * @example DeepSpeed ZeRO-2
             */
            name: string;
            id: components["schemas"]["PlanId"];
            /** Format: int64 */
            dataParallel: number;
            /** Format: int64 */
            tensorParallel: number;
            /** Format: int64 */
            pipelineParallel: number;
            /**
             * Format: int64
             * @description Stages of the pipeline on each GPU; 1 without interleaving.
             */
            virtualStages: number;
            /** @example zero2 */
            sharding: string;
            /** Format: int64 */
            microBatch: number;
            /**
             * Format: int64
             * @description Micro-batches of a step.
             */
            accumulation: number;
            /**
             * @description `none`, `attention`, `half` or `full`.
             * @example none
             */
            recompute: string;
            /**
             * Format: double
             * @description What one GPU needs, and at most in four of five such runs.
             */
            memoryGib: number;
            /** Format: double */
            memoryHighGib: number;
            /**
             * Format: double
             * @description GiB by which a GPU is too small; 0 where it fits.
             */
            missingGib: number;
            /** @description What the memory of one GPU is for. */
            memory: components["schemas"]["PlannedMemory"];
            /** Format: double */
            stepTimeS: number;
            /**
             * Format: double
             * @description Four of five such runs are between these.
             */
            stepTimeLowS: number;
            /** Format: double */
            stepTimeHighS: number;
            /** Format: double */
            tokensPerS: number;
            /**
             * Format: double
             * @description The share of the data sheet's rate that is spent on the model's own arithmetic.
             */
            mfu: number;
        };
        /** @description GiB of one GPU at the peak, by what they are for. */
        PlannedMemory: {
            /** Format: double */
            parameters: number;
            /** Format: double */
            gradients: number;
            /** Format: double */
            optimizer: number;
            /** Format: double */
            activations: number;
            /** Format: double */
            logits: number;
            /**
             * Format: double
             * @description Gathered blocks, buckets, casts.
             */
            transient: number;
            /**
             * Format: double
             * @description What the driver, libraries and the allocator take besides.
             */
            context: number;
        };
        /** @description A point, or a stretch of points. */
        Point: {
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            time: number;
            /** Format: int64 */
            step?: number | null;
            /**
             * Format: double
             * @description The last value of the stretch.
             */
            value: number;
            /** Format: double */
            min: number;
            /** Format: double */
            max: number;
        };
        /** @description What Fermi may do on its own while the task runs. */
        Policies: {
            /**
             * @description Counted over the whole task, not per node.
             * @default {
             *       "maxRestarts": 0
             *     }
             */
            restart?: components["schemas"]["RestartPolicy"];
            /**
             * @default {
             *       "checkpoint": null,
             *       "plannedGraceMs": 30000,
             *       "failureGraceMs": 50
             *     }
             */
            stop?: components["schemas"]["StopLadder"];
            /**
             * @description How long a node may be silent before it counts as lost.
             * @default 15
             */
            nodeLostAfter?: components["schemas"]["Seconds"];
            /** @default keep */
            onDisconnect?: components["schemas"]["OnDisconnect"];
            /**
             * @description What becomes of workers whose machine is gone when the next attempt begins.
             * @default wait
             */
            standby?: components["schemas"]["Standby"];
            /** @default null */
            startTimeout?: components["schemas"]["Seconds"] | null;
            /** @default null */
            timeLimit?: components["schemas"]["Seconds"] | null;
            /**
             * @description Whether it may be asked to save a checkpoint and give its workers to a task of higher priority, where the rules of
             *     the queue allow that.
             * @default true
             */
            preemptible?: boolean;
            /**
             * @description Whether its nodes check each other before ranks start; left out, they do not.
             * @default off
             */
            preflight?: components["schemas"]["PreflightPolicy"];
            /**
             * @description Whether ranks use the interface over which that check finds that all nodes reach each other; they do when not given.
             * @default set
             */
            preflightInterface?: components["schemas"]["PreflightInterface"];
            /**
             * @description What is done about ranks that hang; it is told in any case.
             * @default tell
             */
            onHang?: components["schemas"]["OnHang"];
            /** @default null */
            hangAfter?: components["schemas"]["Seconds"] | null;
            /**
             * @description Whether an interpreter with the rank's imports stands ready beside each rank, for the next restart.
             * @default off
             */
            warm?: components["schemas"]["Warm"];
        };
        /** @description A preflight, as far as it has come. Kept in memory: the last 64, until the server ends. */
        Preflight: {
            /** @example preflight-1765432100000 */
            id: string;
            createdBy: components["schemas"]["Principal"];
            /** @description The task before whose ranks it happened. */
            taskId?: string | null;
            path?: string | null;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            startedAt: number;
            /**
             * Format: int64
             * @description Null while it goes on.
             */
            endedAt?: number | null;
            /** Format: double */
            seconds: number;
            /** @description Whether there was no error; null while it goes on, and where the task that waited for it was stopped. */
            ok?: boolean | null;
            progress: components["schemas"]["PreflightProgress"];
            nodes: components["schemas"]["PreflightNode"][];
            counts: components["schemas"]["FindingCounts"];
            /** @description `nodes` in it are places of the list above. Empty while it goes on. */
            findings: components["schemas"]["Finding"][];
            differences: components["schemas"]["VersionDifference"][];
            /**
             * @description The shortest round trips in microseconds, from row to column; null where two do not reach each other, and where there
             *     was no time to try: those are `untried`.
             */
            roundTripsUs: (number | null)[][];
            /**
             * @description Row and column of the round trips that were not tried.
             * @example [
             *       [
             *         0,
             *         3
             *       ]
             *     ]
             */
            untried?: number[][];
            /** @description Bytes per second between two; null where nothing was measured. */
            bytesPerSecond: (number | null)[][];
            /** @description By the place of the node, its interface at which all others get through; null where there is none. */
            interfaces?: (string | null)[];
        };
        /**
         * @description Which engine's own device list and all-reduce are asked for.
         * @enum {string}
         */
        PreflightEngine: "torch" | "jax";
        /**
         * @description What is done with the interface that a preflight finds working.
         * @enum {string}
         */
        PreflightInterface: "set" | "suggest";
        /** @description An environment that takes part. */
        PreflightNode: {
            environment: string;
            name: string;
            zone?: string | null;
            /**
             * @description `absent`, `waits`, `asked`, `takesPart`, `done`, `failed`, `silent` or `left`.
             * @example takesPart
             */
            state: string;
        };
        /**
         * @description What a task asks for.
         * @enum {string}
         */
        PreflightPolicy: "off" | "warn" | "require";
        /** @description How far a preflight is. */
        PreflightProgress: {
            step: components["schemas"]["PreflightStep"];
            text: components["schemas"]["Text"];
            /**
             * Format: float
             * @description 0 to 1.
             */
            share: number;
            /** @description The names of those who are waited for, where that is known. */
            waitsFor: string[];
        };
        /**
         * @description One step after the other.
         * @enum {string}
         */
        PreflightStep: "asking" | "meeting" | "looking" | "latency" | "bandwidth" | "allReduce" | "engine" | "folder" | "over";
        /** @description The answer to `POST /training-tasks/preview`. */
        Preview: {
            aggregate?: components["schemas"]["Aggregate"] | null;
            warnings: components["schemas"]["Warning"][];
            rankMap: components["schemas"]["RankSlot"][];
            launch?: components["schemas"]["Launch"] | null;
            /** @description The lines of the summary card, from top to bottom. */
            card: components["schemas"]["CardLine"][];
            plan?: components["schemas"]["Plan"] | null;
            placement?: components["schemas"]["Text"] | null;
        };
        /** @description Who asked for something, or did it. */
        Principal: {
            kind: components["schemas"]["PrincipalKind"];
            /**
             * @description A user's name, or the id of an agent's environment; empty for the server itself.
             * @example local
             */
            name: string;
            /**
             * @description What a user may do.
             * @example administrator
             */
            role?: string | null;
        };
        /** @enum {string} */
        PrincipalKind: "system" | "agent" | "user";
        /** @description How far rank 0 is, by what it last reported. */
        Progress: {
            /** Format: int64 */
            step: number;
            /** Format: int64 */
            totalSteps?: number | null;
            /** Format: double */
            epoch?: number | null;
            /** Format: double */
            loss?: number | null;
            /** Format: double */
            tokensPerS?: number | null;
            /**
             * Format: int64
             * @description By the pace of this attempt.
             */
            etaSeconds?: number | null;
            /**
             * Format: int64
             * @description Unix milliseconds of the report.
             */
            reportedAt?: number | null;
        };
        /** @description A place in the queue. */
        QueuePlace: {
            /**
             * Format: int32
             * @description How many tasks that could use the same workers are before it; in a very long queue at least so many.
             */
            before: number;
            /**
             * Format: int64
             * @description When it starts, as the queue is now; null where a task before it states no time limit.
             */
            startsBy?: number | null;
            /** @description Whether that is a promise, because workers are kept for it. */
            isPromised: boolean;
            /** @description The first of those that are before it. */
            ahead?: components["schemas"]["QueuedTask"][];
            reservation?: components["schemas"]["ReservedWorkers"] | null;
        };
        /** @description A task in the queue. */
        QueuedTask: {
            taskId: string;
            name: string;
        };
        /** @description One rank of an attempt. */
        Rank: {
            /** Format: int32 */
            attempt: number;
            /** Format: int32 */
            rank: number;
            /** Format: int32 */
            localRank: number;
            /** Format: int32 */
            nodeRank: number;
            worker: string;
            environment: string;
            node: string;
            /** Format: int32 */
            gpu?: number | null;
            state: components["schemas"]["RankState"];
            stateText: components["schemas"]["Text"];
            /** Format: int32 */
            pid?: number | null;
            /** Format: int64 */
            startedAt?: number | null;
            /** Format: int64 */
            endedAt?: number | null;
            exit?: components["schemas"]["Exit"] | null;
            exitText?: string | null;
            /**
             * Format: float
             * @description In CPUs, with all its children: 1.5 is one and a half.
             */
            cpus?: number | null;
            /**
             * Format: int64
             * @description In bytes, with all its children.
             */
            memory?: number | null;
            /** Format: int64 */
            step?: number | null;
            /** Format: double */
            loss?: number | null;
        };
        /** @description The place of one rank. */
        RankSlot: {
            rank: components["schemas"]["Rank"];
            localRank: components["schemas"]["LocalRank"];
            /**
             * Format: int32
             * @description How many ranks its node has.
             */
            localWorldSize: number;
            nodeRank: components["schemas"]["NodeRank"];
            /** @description The node's name, such as `gn6`. */
            node: string;
            environment: components["schemas"]["EnvironmentId"];
            worker: string;
            /**
             * Format: int32
             * @description The number of its GPU on that machine; none on CPU.
             */
            gpu?: number | null;
        };
        /** @description The start of one rank in one attempt, as its node wrote it down. Secrets are masked. */
        RankStart: {
            /** Format: int32 */
            attempt: number;
            /** Format: int32 */
            rank: number;
            /** Format: int32 */
            localRank: number;
            /** @description The node's name, such as `gn6`. */
            node: string;
            /** @description The system account that it ran as, where it was not the agent's own. */
            account?: string | null;
            /** Format: int32 */
            pid: number;
            /** Format: int64 */
            startedAt: number;
            /** @description The release that started it. */
            fermi: string;
            argv: string[];
            /** @description Where it began; none for the folder of its agent. */
            directory?: string | null;
            /** @description The variables that it was given. What it inherited from its agent's environment is not among them. */
            env: {
                [key: string]: string;
            };
            /** @description The CPUs that it was bound to; empty where it was bound to none. */
            cpus: number[];
            /** @description Whether it went on from an interpreter that stood ready (`warm`). */
            isReleased: boolean;
            /** @description Something was too long to be kept, and is not here as it was. */
            isCut: boolean;
            /** @description The attempts of which starts are kept. */
            attempts: number[];
        };
        /**
         * @description Where a rank stands.
         * @enum {string}
         */
        RankState: "waiting" | "running" | "succeeded" | "failed" | "stopped";
        /** @description The data of `GET /readyz`. */
        Readiness: {
            ready: boolean;
            degraded?: components["schemas"]["Text"] | null;
            /** @description The loops that run beside the requests. */
            loops?: components["schemas"]["BackgroundLoop"][];
        };
        /** @description The request's `command`. */
        RequestedCommand: {
            /** @default [] */
            argv?: string[];
            /** @default null */
            workingDirectory?: string | null;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /**
             * @description Variables whose values are secrets, by the names of these.
             * @default {}
             */
            secrets?: {
                [key: string]: string;
            };
            /** @default null */
            interpreter?: string | null;
        };
        /** @description The request's `distributedConfig`. */
        RequestedNodes: {
            /** @default null */
            enabled?: boolean | null;
            /** @default [] */
            nodeIds?: components["schemas"]["EnvironmentId"][];
            /** @default null */
            masterNode?: components["schemas"]["EnvironmentId"] | null;
            /**
             * @description The framework's value as it was sent, known or not.
             * @default null
             */
            framework?: string | null;
            /** @default null */
            strategy?: components["schemas"]["Strategy"] | null;
            /**
             * @description Workers by number; all of an environment where nothing is said.
             * @default {}
             */
            workers?: {
                [key: string]: number[];
            };
        };
        /** @description The request's `recipe`. */
        RequestedRecipe: {
            /**
             * @description sft, rm, dpo, grpo or ppo; builtin is Fermi's own small trainer.
             * @default
             */
            name?: string;
            /**
             * @description A training.yaml that every node has under this path, where its content is not in `options.training`.
             * @default null
             */
            config?: string | null;
            /**
             * @description Flags for the built-in trainer, or for the recipe.
             * @default []
             */
            args?: string[];
            /** @default null */
            workingDirectory?: string | null;
            /** @default {} */
            env?: {
                [key: string]: string;
            };
            /**
             * @description The Python of the nodes; its libraries are those of the recipe.
             * @default null
             */
            interpreter?: string | null;
        };
        /** @description What is kept for a task that is first in line. */
        ReservedWorkers: {
            taskId: string;
            name: string;
            /** @description The first of them. */
            workers: string[];
            /** Format: int64 */
            workerCount: number;
            /**
             * Format: int64
             * @description When all of them are there at the latest; null where that is not known.
             */
            from?: number | null;
            text: components["schemas"]["Text"];
        };
        /** @description How often a task may be started anew. */
        RestartPolicy: {
            /** Format: int32 */
            maxRestarts: number;
        };
        /**
         * @description Whether the failure began here, or came from another rank.
         * @enum {string}
         */
        Role: "cause" | "victim";
        /** @description One rung: a signal, then time to obey it. */
        Rung: {
            /** Format: int32 */
            signal: number;
            /** Format: int64 */
            graceMs: number;
        };
        /**
         * Format: int64
         * @description A span of time as people configure it.
         */
        Seconds: number;
        /** @description A secret, but for its value. */
        Secret: {
            /** @example HF_TOKEN */
            name: string;
            /**
             * @description Whose it is; none of what is shared.
             * @example ann
             */
            owner?: string | null;
            shared: boolean;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            updatedAt: number;
            /** @description What the one who asks may do with it. */
            allowedActions?: components["schemas"]["AllowedAction"][];
        };
        /** @description Where the workers come from. */
        Selection: "existing" | {
            /**
             * @description The workers of a group, by its id or name. When the task is created they become its `nodeIds`, `masterNode` and
             *     `workers`, in the group's order, so that what was checked is what starts.
             */
            group: components["schemas"]["GroupId"];
        } | {
            /** @description Fermi picks. `"auto"` alone asks for one worker. */
            auto: components["schemas"]["AutoSelection"];
        } | "new";
        /** @description One number as it went. */
        Series: {
            /** @description Such as `loss`, `tokensPerS`, `rank.cpus`, `rank.memory`, `machine.cpu`, `gpu.use`. */
            name: string;
            /** Format: int32 */
            rank?: number | null;
            environment?: string | null;
            /** Format: int32 */
            gpu?: number | null;
            /** @description In the order of time. Where there were more points than asked for, each stands for a stretch of them. */
            points: components["schemas"]["Point"][];
        };
        /** @description The answer to `GET /server/status`. */
        ServerStatus: {
            /** @example 0.1.0 */
            version: string;
            cluster: string;
            /**
             * @description The SHA-256 of the server's own authority, by which machines that join know it. Not there where the server is not
             *     encrypted, where others vouch for its certificate, and for who asks through a proxy, which shows another one.
             * @example sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
             */
            fingerprint?: string | null;
            dataDir: string;
            disk: components["schemas"]["DiskStatus"];
            kept: components["schemas"]["KeptKind"][];
            /**
             * Format: int64
             * @description Bytes of logs that were taken and not kept since the server started.
             */
            logBytesDropped: number;
            /**
             * Format: int64
             * @description Unix milliseconds: the time by which ages are judged. It follows the server's clock, but not in leaps.
             */
            believedTime?: number | null;
            loops: components["schemas"]["BackgroundLoop"][];
            /**
             * Format: int64
             * @description How often an older state of the database was put back.
             */
            epoch?: number;
            /**
             * Format: int64
             * @description Runs that this database has never launched; see `GET /server/strays`.
             */
            strays?: number;
            /** @description What in the database cannot be read by this release and is left alone. */
            unreadable?: components["schemas"]["Text"][];
        };
        /** @description Who is logged in. */
        Session: {
            /**
             * @description `token` for who holds the server's own token, `local` where none is asked for.
             * @example ann
             */
            user: string;
            /** @example member */
            role: string;
            /** @description Whether this server asks for no token. */
            isOpen: boolean;
            /**
             * Format: int64
             * @description Unix milliseconds; none where it does not end.
             */
            expiresAt?: number | null;
            /** @description Shown this once, where the log-in asked for it. */
            token?: string | null;
            /**
             * @description What this session may not do at all, so that nobody is offered it. What has an owner says for itself, in
             *     `allowedActions`.
             */
            denied?: components["schemas"]["DeniedDeed"][];
        };
        /** @description The body of `POST /users/{name}/password`. */
        SetPassword: {
            /**
             * @description At least 8 bytes.
             * @default
             */
            password?: string;
            /**
             * @description The one until now; needed for one's own.
             * @default null
             */
            current?: string | null;
        };
        /** @description The body of `POST /secrets`. */
        SetSecret: {
            /**
             * @default
             * @example HF_TOKEN
             */
            name?: string;
            /**
             * @description Up to 32 KiB; no answer holds it.
             * @default
             */
            value?: string;
            /**
             * @description For the tasks of everyone.
             * @default false
             */
            shared?: boolean;
        };
        /**
         * @description Where the numbers of a model come from.
         * @enum {string}
         */
        ShapeSource: "given" | "config" | "catalogue";
        /** @description The answer to `POST /snapshots`. */
        Snapshot: {
            /** @example sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 */
            digest: string;
            /**
             * Format: int64
             * @description In bytes, packed.
             */
            size: number;
        };
        /** @description Where the code is that a task runs. */
        Source: {
            /** @description A folder that every node has under this path, such as on a shared disk. */
            path: string;
        } | {
            /** @description A folder that was sent once, by its digest; agents fetch it. */
            snapshot: string;
        };
        /** @description Ranks whose main threads stand at the same place. */
        StackGroup: {
            ranks: number[];
            /** @description The innermost first; empty for ranks that gave none. */
            frames: components["schemas"]["Frame"][];
        };
        /** @description The answer to `POST /training-tasks/{id}/stacks`. */
        Stacks: {
            /** Format: int32 */
            attempt: number;
            /** @description Those at the same place together, the most ranks first. */
            groups: components["schemas"]["StackGroup"][];
            /** @description Ranks that gave no stack: without the hook, stopped, or not at Python's hand. */
            silent: number[];
            /** @description Nodes that have not answered in time. */
            silentNodes: string[];
        };
        /**
         * @description Whether those who stand by take the place of workers whose machine is gone.
         * @enum {string}
         */
        Standby: "wait" | "replace";
        /**
         * @description Where a rank is on its way to the others.
         * @enum {string}
         */
        Standing: "notJoined" | "joined" | "ended";
        /** @description The body of `POST /groups/{id}/start`: a task on the group's ranks. */
        StartGroup: {
            /** @default null */
            command?: components["schemas"]["RequestedCommand"] | null;
            /** @default null */
            recipe?: components["schemas"]["RequestedRecipe"] | null;
            /**
             * @description The group's name when not given.
             * @default null
             */
            taskName?: string | null;
            /**
             * @description `pytorch-ddp` when not given.
             * @default null
             */
            framework?: string | null;
            /** @default null */
            strategy?: components["schemas"]["Strategy"] | null;
            /** @default null */
            datasetId?: string | null;
            /** @default null */
            datasetVersionId?: string | null;
            /** @default null */
            modelId?: string | null;
            /** @default null */
            source?: components["schemas"]["Source"] | null;
            /**
             * @default {
             *       "backend": null,
             *       "masterPort": null,
             *       "interface": null,
             *       "timeout": null,
             *       "ncclDebug": null,
             *       "infiniband": null,
             *       "p2p": null,
             *       "torchDebug": null,
             *       "cudaLaunchBlocking": null,
             *       "framework": {}
             *     }
             */
            options?: components["schemas"]["LaunchOptions"];
            /**
             * @default {
             *       "restart": {
             *         "maxRestarts": 0
             *       },
             *       "stop": {
             *         "checkpoint": null,
             *         "plannedGraceMs": 30000,
             *         "failureGraceMs": 50
             *       },
             *       "nodeLostAfter": 15,
             *       "onDisconnect": "keep"
             *     }
             */
            policies?: components["schemas"]["Policies"];
            /**
             * Format: int32
             * @default 0
             */
            priority?: number;
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
        };
        /** @description The answer to `POST /groups/{id}/start`. */
        StartGroupAnswer: components["schemas"]["CreateAnswer"] & {
            /** @description What was looked at before the start. */
            checks: components["schemas"]["Check"][];
            ranks: components["schemas"]["GroupRanks"];
        };
        /** @description The body of `POST /preflights`. */
        StartPreflight: {
            /**
             * @description Names or ids, at most 64. The first that the others can reach is where they meet.
             * @default []
             * @example [
             *       "gn6",
             *       "gn7"
             *     ]
             */
            environments?: string[];
            /**
             * @description A folder that all shall have, such as that of a data set. An empty file is left there for a moment.
             * @default null
             * @example /data/wiki
             */
            path?: string | null;
            /**
             * Format: int32
             * @description The port at which ranks will meet; the first free one from 29500 on when not given.
             * @default null
             */
            masterPort?: number | null;
            /**
             * @description Whether Python and its engines are asked too; they are when not given.
             * @default null
             */
            python?: boolean | null;
            /** @default null */
            engine?: components["schemas"]["PreflightEngine"] | null;
        };
        /** @description How the ranks of a task are stopped. SIGKILL always follows the last rung. */
        StopLadder: {
            checkpoint?: components["schemas"]["Rung"] | null;
            /**
             * Format: int64
             * @description A planned stop: the script may save and clean up.
             */
            plannedGraceMs: number;
            /**
             * Format: int64
             * @description After a failure the survivors sit in a broken collective and cannot save anything together; they get just
             *     enough to flush their streams.
             */
            failureGraceMs: number;
        };
        /** @description The body of `POST /training-tasks/{id}/stop`; may be left out. */
        StopRequest: {
            /**
             * @description At once, without a grace.
             * @default false
             */
            force?: boolean;
        };
        /** @description How many ways the work is divided; a degree that is not given is 1. */
        Strategy: {
            /**
             * Format: int32
             * @default 1
             */
            dataParallel?: number;
            /**
             * Format: int32
             * @default 1
             */
            pipelineParallel?: number;
            /**
             * Format: int32
             * @default 1
             */
            tensorParallel?: number;
        };
        /** @description A strategy in the comparison of DDP and ZeRO. */
        StrategyCard: {
            /** @example zero2 */
            value: string;
            /** @example DeepSpeed ZeRO-2 */
            label: string;
            /**
             * @description Parameters of the model.
             * @example 1-7B
             */
            modelSize: string;
            /** @description 内存使用 */
            memory: components["schemas"]["Text"];
            /** @description 通信开销 */
            communication: components["schemas"]["Text"];
            /** @description 设置复杂度 */
            setup: components["schemas"]["Text"];
            /** @description 推荐场景 */
            suits: components["schemas"]["Text"];
        };
        /** @description A run that the database has never launched: an older state of it was put back while the run went on. */
        Stray: {
            /** @example task-12-g1-n0-i1 */
            run: string;
            environmentId: string;
            environment: string;
            /** @description Something of it may live, as far as its agent has said. */
            alive: boolean;
            /** @description Its end was asked for. */
            ending: boolean;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            foundAt: number;
        };
        /**
         * @description One of the two streams of a rank.
         * @enum {string}
         */
        Stream: "stdout" | "stderr" | "hang";
        /** @description A task with everything about it. */
        Task: components["schemas"]["TaskRow"] & components["schemas"]["TaskCourse"] & {
            distributedInfo?: components["schemas"]["DistributedInfo"] | null;
            spec: components["schemas"]["TaskSpec"];
            /** Format: int64 */
            generation: number;
            /** Format: int32 */
            maxRestarts: number;
            /**
             * Format: int64
             * @description Unix milliseconds; not before this time, when a restart waits.
             */
            restartAt?: number | null;
            /** @description Somebody asked for its end. */
            stopRequested: boolean;
            progress?: components["schemas"]["Progress"] | null;
            /** @description Oldest first. */
            attempts: components["schemas"]["Attempt"][];
            /** @description In the order of node ranks; the first one coordinates. */
            nodes: components["schemas"]["TaskNode"][];
            /** @description Who is which rank, since workers were leased. */
            rankMap: components["schemas"]["RankSlot"][];
            /** Format: int32 */
            masterPort?: number | null;
            verdict?: components["schemas"]["Verdict"] | null;
            warnings: components["schemas"]["Warning"][];
        };
        /** @description Where a task's time has gone, and what holds it up. */
        TaskCourse: {
            ledger?: components["schemas"]["Ledger"] | null;
            hang?: components["schemas"]["HangNote"] | null;
            waits?: components["schemas"]["WaitNote"] | null;
        };
        /** @description The end of a task, for those who are told of it later. */
        TaskEnd: {
            /**
             * @description What was found, why, and what to do.
             * @default []
             */
            lines?: components["schemas"]["Text"][];
            /**
             * @description The signature of the failure, such as `cuda_out_of_memory`.
             * @default null
             */
            cause?: string | null;
            /**
             * Format: int64
             * @default null
             */
            startedMs?: number | null;
            /**
             * Format: int32
             * @default 0
             */
            attempts?: number;
            /**
             * @description It was stopped in order to wait again: it gave way, or is restarted.
             * @default false
             */
            waitsAgain?: boolean;
        };
        /** @description A task's run on one node. */
        TaskNode: {
            environment: string;
            name: string;
            /** Format: int32 */
            nodeRank: number;
            /** Format: int32 */
            incarnation: number;
            state: components["schemas"]["NodeRunState"];
            /**
             * @description Over which its ranks talk, where a preflight has found that; else the way to the first node.
             * @example eth1
             */
            interface?: string | null;
        };
        /**
         * @description Where a task stands.
         * @enum {string}
         */
        TaskPhase: "initializing" | "queued" | "starting" | "running" | "restarting" | "stopping" | "succeeded" | "failed" | "stopped";
        /** @description A task in a list. */
        TaskRow: {
            id: string;
            name: string;
            status: components["schemas"]["TaskPhase"];
            statusText: components["schemas"]["Text"];
            reason?: components["schemas"]["Text"] | null;
            headline?: components["schemas"]["Text"] | null;
            framework?: components["schemas"]["Framework"] | null;
            /** @description Those that it asked for. */
            environments: string[];
            /** Format: int32 */
            nodeCount: number;
            /**
             * Format: int32
             * @description 0 until workers are leased.
             */
            worldSize: number;
            /**
             * Format: int32
             * @description The newest attempt; 0 before the first.
             */
            attempt: number;
            /** Format: int32 */
            restartsUsed: number;
            createdBy?: components["schemas"]["Principal"] | null;
            /** Format: int32 */
            priority: number;
            labels: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** Format: int64 */
            updatedAt: number;
            /** Format: int64 */
            startedAt?: number | null;
            /** Format: int64 */
            endedAt?: number | null;
            allowedActions: components["schemas"]["AllowedAction"][];
        };
        /** @description A training as the user wants it; it never changes. Each launch of it is an attempt. */
        TaskSpec: {
            name: string;
            dataset?: components["schemas"]["DatasetChoice"] | null;
            modelId?: string | null;
            /** @description Where its workers come from; `launchMode` on the wire. */
            launchMode?: components["schemas"]["Selection"];
            work: components["schemas"]["Work"];
            source?: components["schemas"]["Source"] | null;
            distributed: components["schemas"]["DistributedConfig"];
            options?: components["schemas"]["LaunchOptions"];
            policies?: components["schemas"]["Policies"];
            /**
             * Format: int32
             * @description Higher goes first; equal ones in the order in which they came.
             */
            priority?: number;
            labels?: {
                [key: string]: string;
            };
        };
        /** @description One sentence, Chinese and English side by side, so that neither can be forgotten. */
        Text: {
            "zh-CN": string;
            en: string;
        };
        /** @description A token, but for the word itself. */
        Token: {
            /** @example token-3 */
            id: string;
            name: string;
            /** @description Whose it is; `token` for who holds the server's own token. */
            user: string;
            /** @example member */
            role: string;
            /** @example api */
            scope: string;
            /** @description A browser's. */
            isSession: boolean;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** Format: int64 */
            expiresAt?: number | null;
            /**
             * Format: int32
             * @description How many machines may still come with it; none: as many as there are.
             */
            usesLeft?: number | null;
            /** @description The zone of machines that come with it. */
            zone?: string | null;
            /** @description Labels of machines that come with it. */
            labels?: {
                [key: string]: string;
            };
        };
        /** @description A person who may log in. */
        User: {
            /** @example ann */
            name: string;
            /** @example member */
            role: string;
            /**
             * Format: int64
             * @description Unix milliseconds.
             */
            createdAt: number;
            /** @description Whether the user comes with a company account (OpenID Connect). */
            hasCompanyAccount?: boolean;
        };
        /** @description The end of an attempt. */
        Verdict: {
            /**
             * @description `succeeded`, `rankFailed`, `startTimedOut`, `stoppedByUser`, `timeLimitReached`, `supervisorLost`, `nodeLost`,
             *     `resultUnknown`, `superseded` or `launchRefused`.
             */
            kind: string;
            class?: components["schemas"]["FailureClass"] | null;
            headline: components["schemas"]["Text"];
            advice?: components["schemas"]["Text"] | null;
            /** @description The failure's signature, such as `cuda_out_of_memory`. */
            signature?: string | null;
            cause?: components["schemas"]["Text"] | null;
            first?: components["schemas"]["FailedRank"] | null;
            /** @description The last lines of the first rank. */
            evidence: string[];
            /** @description The first rank's traceback, line by line. */
            traceback: string[];
            /** @description The line that names the exception. */
            exception?: string | null;
            /** @description Those that failed after the first, in the order in which they did. */
            others: components["schemas"]["OtherFailure"][];
            othersSummary?: components["schemas"]["Text"] | null;
        };
        /** @description The data of `GET /version`. */
        Version: {
            /**
             * @description The release of Fermi.
             * @example 0.1.0
             */
            version: string;
            /** @description Versions of the public API that it speaks. */
            api: string[];
            /**
             * Format: int32
             * @description The version of the words between agents and server.
             */
            link: number;
            /**
             * @description Where a browser begins to log in with a company account (OpenID Connect), where the server was set up for it.
             * @example https://fermi.example.com/oidc/log-in
             */
            companyLogIn?: string | null;
        };
        /** @description Something of which nodes have different versions. */
        VersionDifference: {
            /** @description Such as `torch` or `driver`. */
            what: string;
            /** @description How much it matters. */
            state: components["schemas"]["FindingState"];
            versions: components["schemas"]["VersionOf"][];
        };
        /** @description A version and who has it. */
        VersionOf: {
            version: string;
            nodes: number[];
        };
        /** @description What is installed; compared between nodes before a launch. */
        Versions: {
            /** @default null */
            agent?: string | null;
            /** @default null */
            python?: string | null;
            /** @default null */
            torch?: string | null;
            /** @default null */
            cuda?: string | null;
            /** @default null */
            driver?: string | null;
            /** @default null */
            nccl?: string | null;
        };
        /** @description Who waits for whom in the attempt of a task that starts, as it is kept with the task. */
        WaitNote: {
            /** Format: int32 */
            attempt: number;
            /**
             * Format: int64
             * @description Unix milliseconds since when somebody waits.
             */
            sinceMs: number;
            /** @description The first of the ranks that wait. */
            waiting: number[];
            /** @description The first of those that they wait for. */
            awaited: components["schemas"]["AwaitedRank"][];
            text: components["schemas"]["Text"];
        };
        /** @description A worker that the task needs and does not have. */
        WaitingFor: {
            environment: string;
            environmentName: string;
            worker?: string | null;
            /** @description The task that holds it. */
            taskId?: string | null;
            text: components["schemas"]["Text"];
        };
        /**
         * @description Whether interpreters are parked beside ranks.
         * @enum {string}
         */
        Warm: "off" | "on" | "cuda";
        /** @description Something that did not stop the request. */
        Warning: {
            /** @example cross_zone */
            id: string;
            /** @description In the caller's language. */
            message: string;
            text: components["schemas"]["Text"];
            hint?: components["schemas"]["Text"] | null;
        };
        /** @description A webhook, without what must not be seen. */
        Webhook: {
            /** @example webhook-1 */
            id: string;
            name: string;
            /**
             * @description Scheme and host: what follows is often a key.
             * @example https://open.feishu.cn/…
             */
            url: string;
            format: components["schemas"]["WebhookFormat"];
            topics: components["schemas"]["WebhookTopic"][];
            owner?: string | null;
            isSigned: boolean;
            /** @example zh-CN */
            language: string;
            /** Format: int64 */
            createdAt: number;
            /**
             * Format: int64
             * @description How many deliveries were taken, and when the last one was.
             */
            delivered: number;
            /** Format: int64 */
            deliveredAt?: number | null;
            /**
             * Format: int64
             * @description How many the receiver has refused for good.
             */
            leftOut: number;
            /**
             * Format: int64
             * @description Since when nothing gets through, and why.
             */
            failingSince?: number | null;
            problem?: components["schemas"]["Text"] | null;
        };
        /**
         * @description Whose message a body is.
         * @enum {string}
         */
        WebhookFormat: "json" | "feishu" | "dingtalk" | "wecom" | "slack";
        /**
         * @description What people ask to be told of.
         * @enum {string}
         */
        WebhookTopic: "succeeded" | "failed" | "stopped" | "waiting";
        /** @description What runs in each rank. */
        Work: {
            argv: string[];
            directory?: string | null;
            env?: {
                [key: string]: string;
            };
            /** @description Variables whose values are secrets, by the names of these: only the ranks see more than the names. */
            secrets?: {
                [key: string]: string;
            };
            /** @description A Python: its path, or a virtual or conda environment's folder. */
            interpreter?: string | null;
            /** @enum {string} */
            kind: "command";
        } | {
            name: string;
            /** @description A training.yaml that every node has under this path. */
            config?: string | null;
            args?: string[];
            directory?: string | null;
            env?: {
                [key: string]: string;
            };
            interpreter?: string | null;
            /** @enum {string} */
            kind: "recipe";
        } | {
            args?: string[];
            /** @enum {string} */
            kind: "builtin";
        };
        /** @description A slot in which one rank runs. */
        Worker: {
            /** @example gn6-0 */
            id: string;
            /** Format: int32 */
            index: number;
            /** Format: int32 */
            gpu?: number | null;
            /** @description The task that holds it. */
            taskId?: string | null;
        };
        /** @description How many there are, and how many are taken. Those of offline environments are not counted. */
        WorkerCounts: {
            /** Format: int32 */
            total: number;
            /** Format: int32 */
            busy: number;
            /** Format: int32 */
            free: number;
        };
        /** @description A worker of any environment. */
        WorkerRow: {
            /** @example gn6-0 */
            id: string;
            /**
             * @description The name of its environment.
             * @example gn6
             */
            environment: string;
            environmentId: string;
            /** Format: int32 */
            index: number;
            /**
             * Format: int32
             * @description The number of its GPU on that machine; null on CPU.
             */
            gpu?: number | null;
            /** @example A100 */
            gpuType?: string | null;
            zone?: string | null;
            /** @description `unassigned` where it is in no group. */
            groupId: string;
            groupName: string;
            status: components["schemas"]["WorkerStatus"];
            statusText: components["schemas"]["Text"];
            /** @description Who holds it. */
            taskId?: string | null;
        };
        /**
         * @description How a worker fares.
         * @enum {string}
         */
        WorkerStatus: "free" | "busy" | "suspect" | "offline" | "drained" | "lost" | "missing";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

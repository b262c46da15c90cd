import type { ReactNode, SVGProps } from 'react';

type IconProps = SVGProps<SVGSVGElement>;

/** The frame of every icon: 16 by 16, drawn in the colour of the text. */
function Drawn({ children, ...props }: IconProps) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      {...props}
    >
      {children}
    </svg>
  );
}

const icon = (body: ReactNode) => (props: IconProps) => <Drawn {...props}>{body}</Drawn>;

export const HomeIcon = icon(<path d="M2.5 7 8 2.5 13.5 7v6a.5.5 0 0 1-.5.5H9.5V10h-3v3.5H3a.5.5 0 0 1-.5-.5z" />);
export const TasksIcon = icon(<path d="M2.5 4h11M2.5 8h11M2.5 12h7M12 10.5v3l2.5-1.5z" />);
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
export const ServerIcon = icon(
  <path d="M3 2.5h10a.5.5 0 0 1 .5.5v4H2.5V3a.5.5 0 0 1 .5-.5zM2.5 7v6a.5.5 0 0 0 .5.5h10a.5.5 0 0 0 .5-.5V7M5 4.75h.01M5 10.25h.01" />,
);
export const GroupIcon = icon(<path d="M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z" />);
export const PlannerIcon = icon(<path d="M2.5 13.5h11M4.5 13.5V9M8 13.5v-11M11.5 13.5V6" />);
export const CheckListIcon = icon(
  <path d="m2.5 4 1 1L5.5 3M2.5 8.5l1 1 2-2M2.5 13l1 1 2-2M8 4.25h5.5M8 8.75h5.5M8 13h5.5" />,
);
export const DatabaseIcon = icon(
  <path d="M13 4c0 1.1-2.2 2-5 2S3 5.1 3 4s2.2-2 5-2 5 .9 5 2zM3 4v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2" />,
);
export const CubeIcon = icon(<path d="M8 1.75 13.5 5v6L8 14.25 2.5 11V5zM2.5 5 8 8.25 13.5 5M8 8.25v6" />);
export const GearIcon = icon(
  <>
    <circle cx="8" cy="8" r="2" />
    <path d="M8 1.75v1.75M8 12.5v1.75M14.25 8H12.5M3.5 8H1.75M12.42 3.58l-1.24 1.24M4.82 11.18l-1.24 1.24M12.42 12.42l-1.24-1.24M4.82 4.82 3.58 3.58" />
  </>,
);
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.25" />
    <path d="m10.25 10.25 3.25 3.25" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="2.75" />
    <path d="M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7" />
  </>,
);
export const MoonIcon = icon(<path d="M13.5 9.5A5.5 5.5 0 0 1 6.5 2.5a5.5 5.5 0 1 0 7 7z" />);
export const CopyIcon = icon(<path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />);
export const CheckIcon = icon(<path d="m3 8.5 3.25 3.25L13 5" />);
export const MinusIcon = icon(<path d="M3.5 8h9" />);
export const CloseIcon = icon(<path d="m3.75 3.75 8.5 8.5M12.25 3.75l-8.5 8.5" />);
export const ChevronDownIcon = icon(<path d="m4 6 4 4 4-4" />);
export const ChevronRightIcon = icon(<path d="m6 4 4 4-4 4" />);
export const ArrowUpIcon = icon(<path d="M8 13V3M4 7l4-4 4 4" />);
export const ArrowDownIcon = icon(<path d="M8 3v10M4 9l4 4 4-4" />);
export const WarnIcon = icon(<path d="M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5h.01" />);
export const InfoIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 7.5v3.5M8 5h.01" />
  </>,
);
export const MenuIcon = icon(<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />);
export const MoreIcon = icon(<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.5" />);
export const TrashIcon = icon(<path d="M2.5 4h11M6 4V2.5h4V4M4 4l.5 9.5h7L12 4M6.5 6.5v4.5M9.5 6.5v4.5" />);
export const StopIcon = icon(<path d="M4 4h8v8H4z" />);
export const PlayIcon = icon(<path d="M4.5 3v10l8-5z" />);
export const RestartIcon = icon(<path d="M13 8a5 5 0 1 1-1.6-3.66M13 2.5v2.75h-2.75" />);
export const DownloadIcon = icon(<path d="M8 2.5v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11" />);
export const PinIcon = icon(
  <>
    <path d="M8 14s4.5-4.3 4.5-7.5a4.5 4.5 0 0 0-9 0C3.5 9.7 8 14 8 14z" />
    <circle cx="8" cy="6.5" r="1.5" />
  </>,
);
export const DiskIcon = icon(<path d="M2.5 2.5h8.5l2.5 2.5v8.5h-11zM5 2.5v4h5.5v-4M5 13.5V9.5h6v4" />);
export const ChipIcon = icon(
  <path d="M4.5 4.5h7v7h-7zM6.75 6.75h2.5v2.5h-2.5zM6.25 4.5v-2M9.75 4.5v-2M6.25 13.5v-2M9.75 13.5v-2M4.5 6.25h-2M4.5 9.75h-2M13.5 6.25h-2M13.5 9.75h-2" />,
);
export const ClockIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.75" />
    <path d="M8 4.75V8l2.25 1.5" />
  </>,
);
export const GlobeIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.75" />
    <path d="M2.25 8h11.5M8 2.25c2 1.6 2.75 3.6 2.75 5.75S10 12.15 8 13.75C6 12.15 5.25 10.15 5.25 8S6 3.85 8 2.25z" />
  </>,
);
export const PersonIcon = icon(
  <path d="M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.75 13.5c.6-2.2 2.7-3.5 5.25-3.5s4.65 1.3 5.25 3.5" />,
);
export const PulseIcon = icon(<path d="M1.5 8.5h3l2-5 3 9 2-4h3" />);

//! Every call of libcuda and libnccl, each behind a safe function. Types and names are those of `cuda.h` and `nccl.h`; both
//! libraries keep them as they are within `libcuda.so.1` and `libnccl.so.2`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::NcclProblem;

pub const LIBRARY: &str = "libnccl.so.2";
const DRIVER: &str = "libcuda.so.1";

const CUDA_NOT_READY: c_int = 600;
const NCCL_IN_PROGRESS: c_int = 7;
const NCCL_FLOAT32: c_int = 7;
const NCCL_SUM: c_int = 0;
const WORD: usize = 128;

type Status = c_int;
type DevicePointer = u64;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UniqueId {
    word: [u8; WORD],
}

impl Default for UniqueId {
    fn default() -> Self {
        Self { word: [0; WORD] }
    }
}

impl UniqueId {
    pub fn bytes(&self) -> &[u8] {
        &self.word
    }

    pub fn of(bytes: &[u8]) -> Option<Self> {
        Some(Self { word: bytes.try_into().ok()? })
    }
}

/// A handle of one of the libraries, which says itself that it may be used from any thread.
#[derive(Clone, Copy, Debug)]
struct Handle(*mut c_void);

// SAFETY: contexts and communicators are bound to no thread; one thread at a time uses them here.
unsafe impl Send for Handle {}
// SAFETY: as above; nothing of the handle is read on this side.
unsafe impl Sync for Handle {}

macro_rules! functions {
    ($table:ident { $($name:ident: fn($($argument:ty),*) -> $answer:ty = $symbol:literal;)* }) => {
        #[derive(Debug)]
        struct $table {
            $($name: unsafe extern "C" fn($($argument),*) -> $answer,)*
            /// Keeps the functions where they are.
            _library: libloading::Library,
        }

        impl $table {
            fn load(path: &Path) -> Result<Self, libloading::Error> {
                // SAFETY: what the libraries of the driver and of NCCL do when they are loaded is what every CUDA program
                // relies on; the signatures are those of their headers, and the library outlives its functions.
                unsafe {
                    let library = libloading::Library::new(path)?;
                    Ok(Self { $($name: *library.get($symbol)?,)* _library: library })
                }
            }
        }
    };
}

functions!(CudaFunctions {
    init: fn(c_uint) -> Status = b"cuInit\0";
    count: fn(*mut c_int) -> Status = b"cuDeviceGetCount\0";
    device: fn(*mut c_int, c_int) -> Status = b"cuDeviceGet\0";
    retain: fn(*mut *mut c_void, c_int) -> Status = b"cuDevicePrimaryCtxRetain\0";
    choose: fn(*mut c_void) -> Status = b"cuCtxSetCurrent\0";
    allocate: fn(*mut DevicePointer, usize) -> Status = b"cuMemAlloc_v2\0";
    free: fn(DevicePointer) -> Status = b"cuMemFree_v2\0";
    write: fn(DevicePointer, *const c_void, usize) -> Status = b"cuMemcpyHtoD_v2\0";
    read: fn(*mut c_void, DevicePointer, usize) -> Status = b"cuMemcpyDtoH_v2\0";
    query: fn(*mut c_void) -> Status = b"cuStreamQuery\0";
    name: fn(Status, *mut *const c_char) -> Status = b"cuGetErrorName\0";
});

functions!(NcclFunctions {
    version: fn(*mut c_int) -> Status = b"ncclGetVersion\0";
    unique_id: fn(*mut UniqueId) -> Status = b"ncclGetUniqueId\0";
    join: fn(*mut *mut c_void, c_int, UniqueId, c_int) -> Status = b"ncclCommInitRank\0";
    leave: fn(*mut c_void) -> Status = b"ncclCommAbort\0";
    state: fn(*mut c_void, *mut Status) -> Status = b"ncclCommGetAsyncError\0";
    all_reduce: fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> Status = b"ncclAllReduce\0";
    all_gather: fn(*const c_void, *mut c_void, usize, c_int, *mut c_void, *mut c_void) -> Status = b"ncclAllGather\0";
    reduce_scatter: fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> Status = b"ncclReduceScatter\0";
    broadcast: fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> Status = b"ncclBroadcast\0";
    text: fn(Status) -> *const c_char = b"ncclGetErrorString\0";
});

/// The stream that every device has.
const STREAM: *mut c_void = ptr::null_mut();

/// The driver, with one GPU chosen.
#[derive(Clone, Debug)]
pub struct Driver {
    cuda: Arc<CudaFunctions>,
    context: Handle,
}

impl Driver {
    pub fn open(local_rank: usize) -> Result<Self, NcclProblem> {
        let missing = |error: libloading::Error| NcclProblem::NoDriver(error.to_string());
        let cuda = CudaFunctions::load(Path::new(DRIVER)).map_err(missing)?;
        let (mut devices, mut device, mut context) = (0, 0, ptr::null_mut());
        // SAFETY: the pointers are to values of this function, of the types that the calls write.
        unsafe {
            checked(&cuda, "cuInit", (cuda.init)(0))?;
            checked(&cuda, "cuDeviceGetCount", (cuda.count)(&raw mut devices))?;
            let wanted = c_int::try_from(local_rank).ok().filter(|wanted| *wanted < devices);
            let devices = usize::try_from(devices).unwrap_or(0);
            let wanted = wanted.ok_or(NcclProblem::NoGpu { local_rank, devices })?;
            checked(&cuda, "cuDeviceGet", (cuda.device)(&raw mut device, wanted))?;
            checked(&cuda, "cuDevicePrimaryCtxRetain", (cuda.retain)(&raw mut context, device))?;
        }
        let driver = Self { cuda: Arc::new(cuda), context: Handle(context) };
        driver.choose()?;
        Ok(driver)
    }

    /// The GPU is that of the calling thread from now on.
    pub fn choose(&self) -> Result<(), NcclProblem> {
        // SAFETY: the context was retained and is not given back before the process ends.
        checked(&self.cuda, "cuCtxSetCurrent", unsafe { (self.cuda.choose)(self.context.0) })
    }

    pub fn allocate(&self, values: usize) -> Result<Memory, NcclProblem> {
        let mut at = 0;
        // SAFETY: the pointer is to a value of this function; a size that cannot be had is an error of the call.
        let status = unsafe { (self.cuda.allocate)(&raw mut at, values.saturating_mul(size_of::<f32>())) };
        checked(&self.cuda, "cuMemAlloc", status)?;
        Ok(Memory { cuda: self.cuda.clone(), at, values })
    }

    /// Whether all that was put into the stream is over.
    pub fn is_done(&self) -> Result<bool, NcclProblem> {
        // SAFETY: the stream is the one that exists with the context.
        match unsafe { (self.cuda.query)(STREAM) } {
            CUDA_NOT_READY => Ok(false),
            status => checked(&self.cuda, "cuStreamQuery", status).map(|()| true),
        }
    }
}

fn checked(cuda: &CudaFunctions, call: &'static str, status: Status) -> Result<(), NcclProblem> {
    if status == 0 {
        return Ok(());
    }
    let mut name = ptr::null();
    // SAFETY: the pointer is to a value of this function; what it is set to is a text that lives as long as the library.
    let said = unsafe {
        let known = (cuda.name)(status, &raw mut name) == 0 && !name.is_null();
        known.then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    };
    Err(NcclProblem::Failed { call, said: said.unwrap_or_else(|| format!("CUDA error {status}")) })
}

/// Values in a GPU's memory, given back with this.
#[derive(Debug)]
pub struct Memory {
    cuda: Arc<CudaFunctions>,
    at: DevicePointer,
    values: usize,
}

impl Memory {
    pub fn values(&self) -> usize {
        self.values
    }

    pub fn write(&self, values: &[f32]) -> Result<(), NcclProblem> {
        let bytes = size_of_val(&values[..values.len().min(self.values)]);
        // SAFETY: so many bytes are there on both sides; the call returns when they are copied.
        checked(&self.cuda, "cuMemcpyHtoD", unsafe { (self.cuda.write)(self.at, values.as_ptr().cast(), bytes) })
    }

    pub fn read(&self, values: &mut [f32]) -> Result<(), NcclProblem> {
        let bytes = size_of_val(&values[..values.len().min(self.values)]);
        // SAFETY: so many bytes are there on both sides, and any bits are an f32.
        checked(&self.cuda, "cuMemcpyDtoH", unsafe { (self.cuda.read)(values.as_mut_ptr().cast(), self.at, bytes) })
    }

    /// The address of a value, as NCCL takes it.
    fn place(&self, value: usize) -> *mut c_void {
        ptr::with_exposed_provenance_mut((self.at as usize).wrapping_add(value * size_of::<f32>()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated by this driver and is given back once; the driver waits for what still uses it.
        unsafe { (self.cuda.free)(self.at) };
    }
}

/// libnccl.
#[derive(Clone, Debug)]
pub struct Library {
    nccl: Arc<NcclFunctions>,
}

impl Library {
    pub fn open(path: &Path) -> Result<Self, NcclProblem> {
        let missing = |error: libloading::Error| NcclProblem::NoLibrary(error.to_string());
        NcclFunctions::load(path).map(|nccl| Self { nccl: Arc::new(nccl) }).map_err(missing)
    }

    pub fn version(&self) -> u32 {
        let mut version = 0;
        // SAFETY: the pointer is to a value of this function.
        let status = unsafe { (self.nccl.version)(&raw mut version) };
        if status == 0 { u32::try_from(version).unwrap_or(0) } else { 0 }
    }

    pub fn unique_id(&self) -> Result<UniqueId, NcclProblem> {
        let mut id = UniqueId::default();
        // SAFETY: the pointer is to a value of this function, as large as the header says.
        let status = unsafe { (self.nccl.unique_id)(&raw mut id) };
        succeeded(&self.nccl, "ncclGetUniqueId", status).map(|()| id)
    }

    /// Waits for all ranks.
    pub fn join(&self, id: &UniqueId, rank: usize, world_size: usize) -> Result<NcclCommunicator, NcclProblem> {
        let number = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a value of this function; the word is passed by value, as in the header.
        let status = unsafe { (self.nccl.join)(&raw mut handle, number(world_size), *id, number(rank)) };
        succeeded(&self.nccl, "ncclCommInitRank", status)?;
        Ok(NcclCommunicator { nccl: self.nccl.clone(), handle: Handle(handle) })
    }
}

fn succeeded(nccl: &NcclFunctions, call: &'static str, status: Status) -> Result<(), NcclProblem> {
    if status == 0 || status == NCCL_IN_PROGRESS {
        return Ok(());
    }
    // SAFETY: it answers any number with a text that lives as long as the library.
    let said = unsafe { CStr::from_ptr((nccl.text)(status)) }.to_string_lossy().into_owned();
    Err(NcclProblem::Failed { call, said })
}

/// The ranks that have met. Operations are in place: what is added lies where the result will.
#[derive(Debug)]
pub struct NcclCommunicator {
    nccl: Arc<NcclFunctions>,
    handle: Handle,
}

impl NcclCommunicator {
    pub fn all_reduce(&self, memory: &Memory) -> Result<(), NcclProblem> {
        let (at, count) = (memory.place(0), memory.values);
        // SAFETY: the memory holds so many values, and lives until the stream was waited for.
        let status = unsafe { (self.nccl.all_reduce)(at, at, count, NCCL_FLOAT32, NCCL_SUM, self.handle.0, STREAM) };
        succeeded(&self.nccl, "ncclAllReduce", status)
    }

    /// The part of this rank begins at `from`.
    pub fn all_gather(&self, memory: &Memory, from: usize, part: usize) -> Result<(), NcclProblem> {
        let (own, all) = (memory.place(from), memory.place(0));
        // SAFETY: as many parts as ranks lie in the memory, which lives until the stream was waited for.
        let status = unsafe { (self.nccl.all_gather)(own, all, part, NCCL_FLOAT32, self.handle.0, STREAM) };
        succeeded(&self.nccl, "ncclAllGather", status)
    }

    pub fn reduce_scatter(&self, memory: &Memory, from: usize, part: usize) -> Result<(), NcclProblem> {
        let (own, all) = (memory.place(from), memory.place(0));
        // SAFETY: as many parts as ranks lie in the memory, which lives until the stream was waited for.
        let status =
            unsafe { (self.nccl.reduce_scatter)(all, own, part, NCCL_FLOAT32, NCCL_SUM, self.handle.0, STREAM) };
        succeeded(&self.nccl, "ncclReduceScatter", status)
    }

    pub fn broadcast(&self, memory: &Memory, root: c_int) -> Result<(), NcclProblem> {
        let (at, count) = (memory.place(0), memory.values);
        // SAFETY: the memory holds so many values, and lives until the stream was waited for.
        let status = unsafe { (self.nccl.broadcast)(at, at, count, NCCL_FLOAT32, root, self.handle.0, STREAM) };
        succeeded(&self.nccl, "ncclBroadcast", status)
    }

    /// Whether something has gone wrong meanwhile, such as a rank that is gone.
    pub fn check(&self) -> Result<(), NcclProblem> {
        let mut state = 0;
        // SAFETY: the communicator lives, and the pointer is to a value of this function.
        let status = unsafe { (self.nccl.state)(self.handle.0, &raw mut state) };
        succeeded(&self.nccl, "ncclCommGetAsyncError", status)?;
        succeeded(&self.nccl, "a collective", state)
    }
}

impl Drop for NcclCommunicator {
    fn drop(&mut self) {
        // SAFETY: it was made by this library and is ended once. Abort waits for no other rank.
        unsafe { (self.nccl.leave)(self.handle.0) };
    }
}

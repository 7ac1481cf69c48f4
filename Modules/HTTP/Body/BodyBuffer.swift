package import Foundation
import Synchronization

/// The unread part of a body: in memory up to a size, and beyond in a file.
///
/// A `URLSession` cannot wait for a reader, because FoundationNetworking restarts a suspended transfer. A body that
/// arrives faster than its reader reads is therefore written to a file, and a slow reader occupies no connection. Every
/// client buffers bodies in this way, so that its time limits and its connections do not depend on readers.
package final class BodyBuffer: Sendable {
  /// The usual ``memorySize``.
  package static let defaultMemorySize = 256 * 1024

  /// The maximum number of bytes in memory, and of bytes read from the file at once.
  private let memorySize: Int
  /// The directory of the file; `nil` for the temporary directory.
  private let directory: URL?
  private let state: Mutex<State>

  private struct State {
    var memory = Data()
    /// The bytes after those in memory; `nil` until the memory is full.
    var file: OverflowFile?
    /// The end of the body, complete or failed; `nil` while the body arrives.
    var end: Result<Void, any Error>?
    /// Whether the end has cancelled the transfer.
    var isCanceled = false
    /// The waiting readers; empty while bytes are unread.
    var readers: [CheckedContinuation<Data?, any Error>] = []
    var onEnd: [@Sendable () -> Void] = []
    var onCancel: (@Sendable () -> Void)?
    /// The largest number of unread bytes in memory so far.
    var peak = 0
  }

  /// - Parameters:
  ///   - memorySize: The maximum number of bytes in memory; `Int.max` keeps the whole body in memory.
  ///   - directory: The directory of the file; `nil` for the temporary directory.
  package init(memorySize: Int = BodyBuffer.defaultMemorySize, directory: URL? = nil) {
    self.memorySize = memorySize
    self.directory = directory
    state = Mutex(State())
  }

  /// Makes a buffer with a complete body.
  init(_ body: Data) {
    memorySize = .max
    directory = nil
    state = Mutex(State(memory: body, end: .success(())))
  }

  /// The largest number of unread bytes in memory so far.
  var peak: Int { state.withLock { $0.peak } }

  /// The present size of the file; zero without a file. For tests.
  package var fileSize: Int { state.withLock { $0.file?.size ?? 0 } }

  /// Sets the function that cancels the transfer of the body. Calls the function at once if the body is cancelled: a
  /// transfer may have written bytes before this call, and their file may have failed.
  package func whenCanceled(_ function: @escaping @Sendable () -> Void) {
    let isCanceled = state.withLock { state in
      if state.end == nil { state.onCancel = function }
      return state.isCanceled
    }
    if isCanceled { function() }
  }

  /// Calls the function at the end of the transfer, complete or failed: at once, if it has ended.
  func whenEnded(_ function: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if state.end == nil { state.onEnd.append(function) }
      return state.end != nil
    }
    if hasEnded { function() }
  }

  // MARK: Writing

  /// Appends received bytes. Ignored after the end. A file that cannot be written cancels the body.
  package func write(_ data: Data) {
    guard !data.isEmpty else { return }
    do {
      let reader: CheckedContinuation<Data?, any Error>? = try state.withLock { state in
        guard state.end == nil else { return nil }
        if !state.readers.isEmpty { return state.readers.removeFirst() }
        try keep(data, in: &state)
        return nil
      }
      reader?.resume(returning: data)
    } catch {
      cancel(error)
    }
  }

  /// Adds bytes to the unread ones: in the file while it has unread bytes, so that the order is preserved.
  private func keep(_ data: Data, in state: inout State) throws {
    let fits = data.count <= memorySize - state.memory.count
    if fits, state.file?.unreadCount ?? 0 == 0 {
      state.memory.append(data)
      state.peak = max(state.peak, state.memory.count)
    } else {
      let file = try state.file ?? OverflowFile(in: directory ?? FileManager.default.temporaryDirectory)
      state.file = file
      try file.append(data)
    }
  }

  /// Discards the received bytes, because another reply replaces them.
  func restart() {
    state.withLock { state in
      state.memory = Data()
      state.file = nil
    }
  }

  /// Ends the body. Only the first end has an effect. A failure discards the unread bytes.
  ///
  /// - Returns: The first end.
  @discardableResult
  package func finish(_ result: Result<Void, any Error>) -> Result<Void, any Error> {
    end(result, isCanceled: false)
    return state.withLock { $0.end } ?? result
  }

  /// Ends the body with an error and cancels its transfer.
  func cancel(_ error: any Error) { end(.failure(error), isCanceled: true) }

  private func end(_ result: Result<Void, any Error>, isCanceled: Bool) {
    let (readers, onEnd, onCancel) = state.withLock { state in
      guard state.end == nil else { return ([], [], nil) as Listeners }
      state.end = result
      state.isCanceled = isCanceled
      if case .failure = result {
        state.memory = Data()
        state.file = nil
      }
      defer { (state.readers, state.onEnd, state.onCancel) = ([], [], nil) }
      return (state.readers, state.onEnd, state.onCancel)
    }
    if isCanceled { onCancel?() }
    for reader in readers { reader.resume(with: result.map { nil }) }
    for function in onEnd { function() }
  }

  private typealias Listeners = (
    [CheckedContinuation<Data?, any Error>], [@Sendable () -> Void], (@Sendable () -> Void)?
  )

  // MARK: Reading

  /// Waits for the next bytes; `nil` after the last.
  ///
  /// The cancellation of the task cancels a body that still arrives. A complete body keeps its unread bytes: the
  /// reader of a cancelled task receives them without an error.
  ///
  /// - Throws: The error that ended the body, a `CancellationError` of a cancelled task among them;
  ///   ``ErrorCode/inputOutput`` when the file cannot be read, which cancels a body that still arrives.
  package func next() async throws -> Data? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { reader in
        let bytes: Result<Data?, any Error>? = state.withLock { state in
          let bytes = take(from: &state)
          if bytes == nil { state.readers.append(reader) }
          return bytes
        }
        // Without effect on a body that has ended.
        if case .failure(let error)? = bytes { cancel(error) }
        if let bytes { reader.resume(with: bytes) }
      }
    } onCancel: {
      cancel(CancellationError())
    }
  }

  /// The next bytes, or the end of the body; `nil` when the reader has to wait.
  private func take(from state: inout State) -> Result<Data?, any Error>? {
    if !state.memory.isEmpty {
      defer { state.memory = Data() }
      return .success(state.memory)
    }
    if let file = state.file, file.unreadCount > 0 { return Result { try file.read(atMost: memorySize) } }
    return state.end.map { end in end.map { nil } }
  }

  /// Waits for the end of the body, and returns the whole body. For a buffer with all bytes in memory: a buffer with a
  /// file returns only the bytes before those in the file.
  ///
  /// - Throws: The errors of ``next()``.
  func collected() async throws -> Data {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in whenEnded { continuation.resume() } }
    } onCancel: {
      cancel(CancellationError())
    }
    return try await next() ?? Data()
  }
}

import Foundation
import Synchronization

/// The part of a body that arrived and was not read yet: the first bytes in memory, those beyond a number in a file.
///
/// A session cannot be told to wait for its reader: FoundationNetworking begins a suspended transfer anew. So a body
/// that comes faster than it is read goes to a file, and a reader that takes its time holds up no connection.
final class BodyBuffer: Sendable {
  /// How many bytes wait in memory, and how many are read from the file at once.
  static let memorySize = 256 * 1024

  private let memorySize: Int
  private let state: Mutex<State>

  private struct State {
    var memory = Data()
    /// Begun when the memory is full. Its bytes come after those in memory.
    var file: OverflowFile?
    var end: Result<Void, any Error>?
    /// Only where there is nothing to read.
    var readers: [CheckedContinuation<Data?, any Error>] = []
    var onEnd: [@Sendable () -> Void] = []
    var onCancel: (@Sendable () -> Void)?
    var peak = 0
  }

  /// - Parameter memorySize: In bytes; `Int.max` keeps the whole body in memory.
  init(memorySize: Int = BodyBuffer.memorySize) {
    self.memorySize = memorySize
    state = Mutex(State())
  }

  /// A buffer of a body that arrived as a whole.
  init(_ body: Data) {
    memorySize = .max
    state = Mutex(State(memory: body, end: .success(())))
  }

  /// The largest number of bytes that waited in memory.
  var peak: Int { state.withLock { $0.peak } }

  /// Calls the function when the body does not want to be received any further.
  func whenCanceled(_ function: @escaping @Sendable () -> Void) {
    state.withLock { if $0.end == nil { $0.onCancel = function } }
  }

  /// Calls the function when the last byte arrived, or none will; at once when it did.
  func whenEnded(_ function: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if state.end == nil { state.onEnd.append(function) }
      return state.end != nil
    }
    if hasEnded { function() }
  }

  // MARK: Writing

  /// Appends bytes that arrived. After the end, they are passed over.
  func write(_ data: Data) {
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

  private func keep(_ data: Data, in state: inout State) throws {
    let fits = data.count <= memorySize - state.memory.count
    if fits, state.file?.unreadCount ?? 0 == 0 {
      state.memory.append(data)
      state.peak = max(state.peak, state.memory.count)
    } else {
      let file = try state.file ?? OverflowFile()
      state.file = file
      try file.append(data)
    }
  }

  /// Forgets what arrived: another reply takes its place.
  func restart() {
    state.withLock { state in
      state.memory = Data()
      state.file = nil
    }
  }

  /// Ends the body. The first end counts. After a failure, nothing of the body can be read any more.
  func finish(_ result: Result<Void, any Error>) { end(result, isCanceled: false) }

  /// Ends the body for a reason other than its transfer, which is canceled.
  func cancel(_ error: any Error) { end(.failure(error), isCanceled: true) }

  private func end(_ result: Result<Void, any Error>, isCanceled: Bool) {
    let (readers, onEnd, onCancel) = state.withLock { state in
      guard state.end == nil else { return ([], [], nil) as Listeners }
      state.end = result
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

  /// The next bytes, as soon as there are any; `nil` after the last.
  ///
  /// - Throws: The error that ended the body; `CancellationError`, when the task is canceled, which cancels the body.
  func next() async throws -> Data? {
    if Task.isCancelled { cancel(CancellationError()) }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { reader in
        let bytes: Result<Data?, any Error>? = state.withLock { state in
          let bytes = take(from: &state)
          if bytes == nil { state.readers.append(reader) }
          return bytes
        }
        if let bytes { reader.resume(with: bytes) }
      }
    } onCancel: {
      cancel(CancellationError())
    }
  }

  /// `nil` when there is nothing to read yet.
  private func take(from state: inout State) -> Result<Data?, any Error>? {
    if !state.memory.isEmpty {
      defer { state.memory = Data() }
      return .success(state.memory)
    }
    if let file = state.file, file.unreadCount > 0 { return Result { try file.read(atMost: memorySize) } }
    return state.end.map { end in end.map { nil } }
  }

  /// The whole body, from memory, when its last byte arrived.
  ///
  /// - Throws: As ``next()``.
  func collected() async throws -> Data {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in whenEnded { continuation.resume() } }
    } onCancel: {
      cancel(CancellationError())
    }
    return try await next() ?? Data()
  }
}

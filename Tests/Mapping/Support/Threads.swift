import Foundation
import Synchronization
import Testing

/// Calls the synchronous form of a method in asynchronous code.
@discardableResult
func inline<T>(_ body: () throws -> T) rethrows -> T { try body() }

/// Runs a block on a new thread, and waits until the thread has ended and released its objects.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) throws -> T {
  // Safety of `Unmanaged`: `work` lives until the thread was joined.
  let work = ThreadWork { Result { try body() } }
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { argument in
      Unmanaged<ThreadWork>.fromOpaque(argument!).takeUnretainedValue().run()
      return nil
    }, Unmanaged.passUnretained(work).toOpaque())
  guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EAGAIN) }
  pthread_join(thread, nil)
  return try #require(work.result.withLock { $0 } as? Result<T, any Error>).get()
}

/// The work of a thread, and its result.
private final class ThreadWork: Sendable {
  let result = Mutex<(any Sendable)?>(nil)
  private let body: @Sendable () -> any Sendable

  init(_ body: @escaping @Sendable () -> any Sendable) { self.body = body }

  func run() { result.withLock { $0 = body() } }
}

import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the sessions for ``SessionTransfer``.
enum TransferSession {
  /// Makes a session without a delegate of the user.
  static func make(_ configuration: URLSessionConfiguration) -> URLSession {
    #if canImport(FoundationNetworking)
      make(configuration, asking: nil)
    #else
      URLSession(configuration: configuration)
    #endif
  }

  /// Returns a session that calls the delegates of tasks, and otherwise behaves like a given session.
  ///
  /// In FoundationNetworking, the result is a new session, which calls the given session's delegate for challenges. On
  /// other systems it is the given session, or with a configuration a new session.
  ///
  /// - Parameter configuration: By default that of the given session.
  static func make(like session: URLSession, _ configuration: URLSessionConfiguration? = nil) -> URLSession {
    #if canImport(FoundationNetworking)
      let router = session.delegate as? TaskDelegateRouter
      return make(configuration ?? session.configuration, asking: router == nil ? session : router?.original)
    #else
      guard let configuration else { return session }
      return URLSession(
        configuration: configuration, delegate: session.delegate, delegateQueue: session.delegateQueue)
    #endif
  }

  /// Calls a function that makes or cancels tasks: at once, or later and in the order of the calls.
  ///
  /// In FoundationNetworking, these operations wait for a serial queue that all sessions of the process share, and that
  /// their callbacks and the protocols of users occupy. They wait on a queue of their own: the concurrency pool has few
  /// threads, and a callback may itself wait for one of them.
  static func perform(_ operation: @escaping @Sendable () -> Void) {
    #if canImport(FoundationNetworking)
      operations.async(execute: operation)
    #else
      operation()
    #endif
  }

  #if canImport(FoundationNetworking)
    private static let operations = DispatchQueue(label: "coherence.http.sessions")

    private static func make(_ configuration: URLSessionConfiguration, asking original: URLSession?) -> URLSession {
      URLSession(configuration: configuration, delegate: TaskDelegateRouter(original), delegateQueue: CallbackQueue())
    }
  #endif
}

#if canImport(FoundationNetworking)
  /// Calls a session's callbacks on the queue on which the session's transfers read.
  ///
  /// With an ordinary queue FoundationNetworking continues to read while callbacks wait, and a fast body accumulates in
  /// memory. A callback on this queue must not wait for the session: cancelling a task, for example, needs another
  /// queue.
  ///
  /// Sendable, as its base class, to which it adds no state.
  private final class CallbackQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
  }

  /// The delegate of a session that forwards callbacks to the delegates of the tasks. FoundationNetworking calls only
  /// the delegate of the session for these callbacks.
  ///
  /// Sendable, because its only property is immutable and Sendable.
  final class TaskDelegateRouter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// The session of the user, whose delegate has the credentials.
    let original: URLSession?

    init(_ original: URLSession?) { self.original = original }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      guard let transfer = dataTask.delegate as? SessionTransfer else { return completionHandler(.allow) }
      transfer.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard let transfer = dataTask.delegate as? SessionTransfer else { return }
      transfer.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let transfer = task.delegate as? SessionTransfer else { return }
      transfer.urlSession(session, task: task, didCompleteWithError: error)
    }
  }
#endif

import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the sessions in which ``SessionTransfer`` works.
enum TransferSession {
  /// A session with nothing but a configuration.
  static func make(_ configuration: URLSessionConfiguration) -> URLSession {
    #if canImport(FoundationNetworking)
      make(configuration, asking: nil)
    #else
      URLSession(configuration: configuration)
    #endif
  }

  /// The session itself, where delegates of its tasks are told everything; one like it, with its configuration, in
  /// FoundationNetworking. The given session's delegate is asked about challenges.
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

  #if canImport(FoundationNetworking)
    private static func make(_ configuration: URLSessionConfiguration, asking original: URLSession?) -> URLSession {
      URLSession(configuration: configuration, delegate: TaskDelegateRouter(original), delegateQueue: CallbackQueue())
    }
  #endif
}

#if canImport(FoundationNetworking)
  /// Runs a session's callbacks where the session hands them over, which is the queue that its transfers read on.
  ///
  /// FoundationNetworking reads on while callbacks wait in an ordinary queue, so that a fast body piles up there. A
  /// callback here must not wait for the session: what does, such as canceling a task, goes to another queue.
  ///
  /// Sendable, as its base class, to which it adds no state.
  private final class CallbackQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
  }

  /// Passes on to the delegates of tasks what FoundationNetworking tells the session's delegate alone.
  ///
  /// Sendable, because its only property is immutable and Sendable.
  final class TaskDelegateRouter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// The session that a user gave, whose delegate has the credentials.
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

extension URLSessionTask {
  /// Cancels the task. Unlike `cancel`, this may be called from a callback of its session.
  func cancelFromAnywhere() {
    #if canImport(FoundationNetworking)
      // It waits for the queue that the callbacks run on.
      DispatchQueue.global().async { self.cancel() }
    #else
      cancel()
    #endif
  }
}

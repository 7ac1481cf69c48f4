import CoherenceHTTP
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionClient {
  /// Waits however busy the machine is, so that requests end by what the tests do and not by the time that it takes.
  static var patient: URLSessionClient {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.timeoutIntervalForRequest = 86_400
    return URLSessionClient(session: URLSession(configuration: configuration))
  }
}

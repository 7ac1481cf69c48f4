import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// The configuration of a session that waits an hour for the next byte. The ordinary limit of a minute
  /// passes where the machine is busy with other tests.
  static var patient: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.timeoutIntervalForRequest = 3_600
    return configuration
  }
}

import Foundation

/// The running action of an ``ActionContext``.
protocol ActionExecution: AnyObject, Sendable {
  var isCanceledOrExpired: Bool { get }
  var progress: Progress { get }
}

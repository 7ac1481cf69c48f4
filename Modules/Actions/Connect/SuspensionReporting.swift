import CoherenceCore

/// A Connect that reports when it is suspended and resumed.
package protocol SuspensionReporting: Connect {
  /// A new stream of the values that ``Connect/suspended`` is set to from now on.
  var suspensions: AsyncStream<Bool> { get }
}

extension GenericConnect: SuspensionReporting {
  package final var suspensions: AsyncStream<Bool> { suspensionStreams.makeStream(.bufferingNewest(1)) }
}

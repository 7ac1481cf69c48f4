import CoherenceCore

/// A Connect that reports when it is suspended and resumed.
package protocol SuspensionReporting: Connect {
  /// A new stream of the values that ``Connect/suspended`` is set to from now on. A slow reader receives only the
  /// latest value.
  var suspensions: AsyncStream<Bool> { get }
}

extension GenericConnect: SuspensionReporting {
  package final var suspensions: AsyncStream<Bool> { suspensionStreams.makeStream(.bufferingNewest(1)) }
}

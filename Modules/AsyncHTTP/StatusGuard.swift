import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Refuses replies whose status is below 100. AsyncHTTPClient takes such a reply for an informational one, and ends the
/// process at the reply's end. A handler of one HTTP/1.1 connection, called on its event loop.
final class StatusGuard: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// Whether a reply was refused. Its further parts are dropped until the connection is closed.
  private var hasRefused = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasRefused else { return }
    if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
      hasRefused = true
      context.fireErrorCaught(HTTPParserError.invalidStatus)
      return context.close(promise: nil)
    }
    context.fireChannelRead(data)
  }
}

extension AsyncHTTPClient.HTTPClient.Configuration {
  /// Adds a ``StatusGuard`` to each connection, before the initializer that the configuration has.
  mutating func refuseStatusesBelow100() {
    let initializer = http1_1ConnectionDebugInitializer
    http1_1ConnectionDebugInitializer = { channel in
      let added = channel.eventLoop.submit {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try pipeline.addHandler(StatusGuard(), position: .after(decoder))
      }
      return added.flatMap { initializer?(channel) ?? channel.eventLoop.makeSucceededVoidFuture() }
    }
  }
}

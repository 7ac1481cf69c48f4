import Foundation

/// "some text", compressed.
enum CompressedText {
  static let gzip = Data(base64Encoded: "H4sIAAAAAAACAyvOz01VKEmtKAEAur26TwkAAAA=")!
  static let deflate = Data(base64Encoded: "eJwrzs9NVShJrSgBABHoA5o=")!
  /// A mebibyte of zeros, in a kilobyte.
  static let zeros = Data(
    base64Encoded: "H4sIAAAAAAACA+3BMQEAAADCoPVPbQhfo" + String(repeating: "A", count: 1355) + "PgMc6jinAAAQAA==")!
}

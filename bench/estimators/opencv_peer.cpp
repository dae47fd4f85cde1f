#include <opencv2/video/tracking.hpp>

#include "bench/estimators/peers.hpp"

namespace laird::bench {

namespace {

class OpenCvPeer final : public Peer {
 public:
  explicit OpenCvPeer(std::size_t filters) : filters_(filters) {
    for (cv::KalmanFilter& kf : filters_) {
      kf.init(6, 1, 0, CV_64F);
      for (int i = 0; i < 4; ++i) kf.transitionMatrix.at<double>(i, i + 2) = kStep;
      for (int i = 0; i < 2; ++i) kf.transitionMatrix.at<double>(i, i + 4) = 0.5 * kStep * kStep;
      for (int i = 0; i < 6; ++i) {
        kf.processNoiseCov.at<double>(i, i) = kProcess[i / 2];
        kf.errorCovPost.at<double>(i, i) = kStart[i / 2];
      }
      kf.measurementNoiseCov.at<double>(0, 0) = kObservation;
      kf.measurementMatrix.at<double>(0, 1) = 1.0;
    }
  }
  void step(const std::vector<Report>& reports) override {
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      cv::KalmanFilter& kf = filters_[i];
      kf.measurementMatrix.at<double>(0, 0) = reports[i].x;
      measurement_(0) = reports[i].r;
      kf.predict();
      kf.correct(measurement_);
    }
  }
  [[nodiscard]] double level(std::size_t i, double x) const override {
    const cv::Mat& m = filters_[i].statePost;
    return m.at<double>(0) * x + m.at<double>(1);
  }

 private:
  std::vector<cv::KalmanFilter> filters_;
  cv::Mat_<double> measurement_ = cv::Mat_<double>(1, 1);
};

}  // namespace

std::unique_ptr<Peer> opencv(std::size_t filters) { return std::make_unique<OpenCvPeer>(filters); }

}  // namespace laird::bench
